"""Laws that hold for every registered game, in random matches under every tested setup."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st
from sixledger.engine.errors import IllegalCommand, MalformedCommand
from sixledger.engine.game import ABORTED, FORFEIT, RESIGNED, Game, Setup, run
from sixledger.engine.visibility import SEAT, classes, merge, redact, split
from support.matches import Record, Table, all_setups, fold
from support.traits import traits

#: Seeds the cards and every choice of a match.
SEEDS = st.integers(0, 2**32 - 1)
every_setup = pytest.mark.parametrize(("game", "setup"), all_setups())


def encoded(record: Record) -> list[bytes]:
    """The events of a record as bytes with their type."""
    return [event.DESCRIPTOR.name.encode() + event.SerializeToString() for _, event in record.events]


def rejection(game: Game[Any], state: Any, seat: int | None, command: Message, table: Table) -> str | None:
    """Why a command is rejected, or None; an accepted one has yielded its first event."""
    try:
        first = next(iter(game.play(state, seat, command, table.chance)))
    except (MalformedCommand, IllegalCommand) as error:
        return f"{type(error).__name__}: {error}"
    assert type(first) in game.schema.events.cases
    return None


def is_secret(event: Any) -> bool:
    """True if some seat sees more of it than the others."""
    kind: Any = type(event)
    return classes(kind).kind == SEAT


@every_setup
def test_complete_options_are_complete(game: Game[Any], setup: Setup) -> None:
    assert game.complete(setup.seats, setup.options) == setup


@every_setup
@given(seed=SEEDS)
def test_exactly_the_legal_commands_are_accepted(game: Game[Any], setup: Setup, seed: int) -> None:
    choices, table = Random(seed), Table(game, setup, seed)
    commands = traits(game).commands
    while not table.over:
        if choices.random() < 0.1:
            before = table.position
            for seat in range(-1, setup.seats + 1):
                legal = game.legal(table.state, seat)
                assert bool(legal) == (seat in game.decision(table.state).seats)
                for command in commands:
                    refused = rejection(game, table.state, seat, command, table)
                    assert (refused is None) == (command in legal)
                assert not any(type(command) in game.table_commands for command in legal)
                for command in legal:
                    assert rejection(game, table.state, seat, command, table) is None
                    run(game, copy := game.copy(table.state), game.play(copy, seat, command, table.chance))
            of_table = game.table_legal(table.state)
            for command in commands if game.table_commands else ():
                assert (rejection(game, table.state, None, command, table) is None) == (command in of_table)
            assert table.position == before
        table.act(*table.choose(choices))
    assert game.table_legal(table.state) == []
    for seat in range(setup.seats):
        assert game.legal(table.state, seat) == []
        for command in commands:
            assert rejection(game, table.state, seat, command, table) is not None


@every_setup
@given(seed=SEEDS)
def test_the_invariants_hold_after_every_command(game: Game[Any], setup: Setup, seed: int) -> None:
    table = Table(game, setup, seed)
    traits(game).check(table.position)
    for _ in table.play_on(Random(seed)):
        traits(game).check(table.position)
    assert table.records[-1].events[-1][0] <= game.epochs(setup)


@every_setup
@given(seed=SEEDS)
def test_the_same_seed_and_commands_give_the_same_bytes(game: Game[Any], setup: Setup, seed: int) -> None:
    first, second = Table(game, setup, seed), Table(game, setup, seed)
    for record in first.play_on(Random(seed)):
        assert record.command is not None
        assert encoded(second.act(record.seat, record.command)) == encoded(record)
    assert second.position == first.position


@every_setup
@given(seed=SEEDS)
def test_a_view_is_the_fold_of_what_its_viewer_may_see(game: Game[Any], setup: Setup, seed: int) -> None:
    choices, table = Random(seed), Table(game, setup, seed)
    folds = {viewer: table.fold_for(viewer) for viewer in (None, *range(setup.seats))}
    stop = choices.randrange(150)
    for number, record in enumerate(table.play_on(choices)):
        for viewer, state in folds.items():
            fold(game, state, record, viewer)
            if number < 30 or number % 7 == 0 or table.over:
                assert game.view(state, viewer) == game.view(table.state, viewer)
                assert game.decision(state) == game.decision(table.state)
                assert viewer is None or game.legal(state, viewer) == game.legal(table.state, viewer)
        if number == stop and not table.over:
            table.leave(RESIGNED, choices.randrange(setup.seats))
            for viewer, state in folds.items():
                fold(game, state, table.records[-1], viewer)
                assert game.view(state, viewer) == game.view(table.state, viewer)


@every_setup
@given(seed=SEEDS)
def test_revealing_closed_epochs_changes_no_view(game: Game[Any], setup: Setup, seed: int) -> None:
    choices, table = Random(seed), Table(game, setup, seed)
    for _ in table.play_on(choices, choices.randrange(100)):
        pass
    closed = game.epoch(table.state) - (not table.over)
    for viewer in (None, *range(setup.seats)):
        assert game.view(table.fold_for(viewer, revealed=closed), viewer) == game.view(table.state, viewer)


@every_setup
@given(seed=SEEDS)
def test_a_viewer_cannot_tell_apart_what_is_hidden(game: Game[Any], setup: Setup, seed: int) -> None:
    choices, table = Random(seed), Table(game, setup, seed)
    for _ in table.play_on(choices):
        if choices.random() > 0.05 or table.over:
            continue
        for viewer in (None, *range(setup.seats)):
            one = game.from_position(table.position)
            two = game.from_position(traits(game).shuffle_hidden(table.position, viewer, choices))
            assert game.view(one, viewer) == game.view(two, viewer)
            if viewer is not None:
                assert game.legal(one, viewer) == game.legal(two, viewer)
                for command in traits(game).commands:
                    refused = rejection(game, one, viewer, command, table)
                    assert refused == rejection(game, two, viewer, command, table)
            for seat in game.decision(one).seats[:-1]:  # the last one's choice has public consequences
                if seat == viewer:
                    continue
                place = choices.randrange(1000)
                seen = []
                for state in (one, two):
                    legal = game.legal(state, seat)  # the hidden cards may also differ in how many commands they allow
                    events = run(game, state, game.play(state, seat, legal[place % len(legal)], table.chance))
                    seen.append([redact(event, viewer) for event in events])
                assert seen[0] == seen[1]
                assert game.view(one, viewer) == game.view(two, viewer)


@every_setup
@given(seed=SEEDS)
def test_a_view_can_be_dealt_anew_without_its_viewer_noticing(game: Game[Any], setup: Setup, seed: int) -> None:
    choices, table = Random(seed), Table(game, setup, seed)
    for _ in table.play_on(choices):
        if choices.random() > 0.05 or table.over:
            continue
        for viewer in (None, *range(setup.seats)):
            view = game.view(table.state, viewer)
            stream = table.chance.stream(1, f"redeal/{choices.randrange(1000)}")
            state = game.redeal(view, stream)
            assert game.view(state, viewer) == view
            assert game.decision(state) == game.decision(table.state)
            assert game.position(game.from_position(game.position(state))) == game.position(state)
            traits(game).check(game.position(state))


@every_setup
@given(seed=SEEDS)
def test_simultaneous_choices_may_arrive_in_any_order(game: Game[Any], setup: Setup, seed: int) -> None:
    choices, table = Random(seed), Table(game, setup, seed)
    for _ in table.play_on(choices):
        seats = list(game.decision(table.state).seats)
        if len(seats) < 2 or choices.random() > 0.1:
            continue
        chosen = {seat: choices.choice(game.legal(table.state, seat)) for seat in seats}
        ends = []
        for _ in range(2):
            choices.shuffle(seats)
            state = game.copy(table.state)
            for seat in seats:
                events = run(game, state, game.play(state, seat, chosen[seat], table.chance))
            # The seats' own choices aside, the last command causes the same events, and all end alike.
            ends.append(([event for event in events if not is_secret(event)], game.position(state)))
        assert ends[0] == ends[1]


@every_setup
@given(seed=SEEDS)
def test_a_stored_position_continues_identically(game: Game[Any], setup: Setup, seed: int) -> None:
    choices, table = Random(seed), Table(game, setup, seed)
    for _ in table.play_on(choices, choices.randrange(60)):
        stored = game.schema.position.kind.FromString(table.position.SerializeToString())
        assert game.position(game.from_position(stored)) == stored
    stored = table.position
    state = game.from_position(stored)
    for record in table.play_on(choices, 60):
        events = run(game, state, game.play(state, record.seat, record.command, table.chance))
        assert events == [event for _, event in record.events]
    assert game.position(state) == table.position


@every_setup
@given(seed=SEEDS)
def test_the_decision_moves_only_when_a_new_choice_opens(game: Game[Any], setup: Setup, seed: int) -> None:
    table = Table(game, setup, seed)
    before = game.decision(table.state)
    assert before.number == 1
    for record in table.play_on(Random(seed)):
        now = game.decision(table.state)
        if now.number == before.number:
            assert now.seats == (() if table.over else tuple(seat for seat in before.seats if seat != record.seat))
        else:
            assert now.number == before.number + 1
            assert now.seats
        before = now


@every_setup
@given(seed=SEEDS)
def test_a_command_abandoned_at_any_event_leaves_no_trace(game: Game[Any], setup: Setup, seed: int) -> None:
    choices, table = Random(seed), Table(game, setup, seed)
    for _ in table.play_on(choices):
        if choices.random() > 0.1 or table.over:
            continue
        seat, command = table.choose(choices)
        before = table.position
        whole = run(game, copy := game.copy(table.state), game.play(copy, seat, command, table.chance))
        for stop in range(1, len(whole) + 1):
            copy = game.copy(table.state)
            for event, _ in zip(game.play(copy, seat, command, table.chance), range(stop), strict=False):
                game.evolve(copy, event)
            assert table.position == before
        assert [event for _, event in table.act(seat, command).events] == whole


@every_setup
@given(seed=SEEDS)
def test_messages_survive_splitting_and_wrapping(game: Game[Any], setup: Setup, seed: int) -> None:
    table = Table(game, setup, seed)
    for _ in table.play_on(Random(seed)):
        pass
    for record in table.records:
        for message, wrapping in [
            *((event, game.schema.events) for _, event in record.events),
            *([(record.command, game.schema.commands)] if record.command else []),
        ]:
            public, secret = split(message)
            assert message == (public if secret is None else merge(public, secret))
            assert wrapping.unpack(wrapping.pack(message)) == message


@every_setup
@given(seed=SEEDS)
def test_a_match_leaves_the_shared_commands_unchanged(game: Game[Any], setup: Setup, seed: int) -> None:
    choices, table = Random(seed), Table(game, setup, seed)
    handed_out: dict[int, tuple[Message, bytes]] = {}
    while not table.over:
        for seat in game.decision(table.state).seats:
            legal = game.legal(table.state, seat)
            handed_out.update((id(command), (command, command.SerializeToString())) for command in legal)
            legal.clear()  # the list itself is the caller's
            assert game.legal(table.state, seat)
        table.act(*table.choose(choices))
    assert all(command.SerializeToString() == before for command, before in handed_out.values())


@every_setup
@given(seed=SEEDS, reason=st.sampled_from([RESIGNED, FORFEIT, ABORTED]))
def test_a_match_can_be_left_at_any_time(game: Game[Any], setup: Setup, seed: int, reason: str) -> None:
    choices, table = Random(seed), Table(game, setup, seed)
    for _ in table.play_on(choices, choices.randrange(50)):
        pass
    if not table.over:
        leaver = choices.randrange(setup.seats)
        table.leave(reason, None if reason == ABORTED else leaver)
        outcome = game.outcome(table.state)
        assert outcome is not None
        assert outcome.reason == reason
        if reason == ABORTED:
            assert outcome.winners == outcome.ranking == ()
        else:
            assert outcome.winners
            assert leaver not in outcome.winners
            assert outcome.ranking[leaver] == setup.seats
    assert game.decision(table.state).seats == ()
    assert game.position(game.from_position(table.position)) == table.position
    with pytest.raises(IllegalCommand) as caught:
        list(game.leave(table.state, ABORTED, None))
    assert caught.value.rule == "finished"
