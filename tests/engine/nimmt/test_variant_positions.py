"""Positions of the variants are checked when they are loaded: whatever loads can be played on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sixledger.engine.nimmt import GAME
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb
from support.matches import Table, setups
from support.nimmt import check

#: Changes a position; what it returns does not matter.
Damage = Callable[[pb.Position], Any]

SETUPS = {name: setup for name, setup in setups(GAME).items() if setup.seats <= 5}


def first(name: str, wanted: Callable[[pb.Position], bool], seats: int = 3) -> pb.Position:
    """The first position of that kind in random matches of a variant."""
    setup = GAME.complete(seats, pb.Options(variant=pb.Variant.Value(f"VARIANT_{name.upper()}")))
    for seed in range(200):
        table = Table(GAME, setup, seed)
        for _ in table.play_on(Random(seed)):
            position: pb.Position = table.position
            if wanted(position):
                return position
    raise AssertionError("no match has such a position")


def drafting() -> pb.Position:
    return first("logic", lambda p: len(p.pool) == 20)


def sealed() -> pb.Position:
    return first("logic", lambda p: p.turn == 3 and any(seat.HasField("chosen") for seat in p.seats))


def second_game() -> pb.Position:
    return first("tournament", lambda p: p.round == 2 and p.turn == 4)


def two_ends() -> pb.Position:
    return first("professional", lambda p: p.HasField("end_choice"))


def laying() -> pb.Position:
    return first("open", lambda p: p.turn == 2 and len(p.queue) == 1)


def ordering() -> pb.Position:
    return first("nifty", lambda p: p.HasField("order_choice") and len(p.queue) == 4)


def half_a_pair() -> pb.Position:
    return first("nifty", lambda p: p.HasField("row_choice") and len(p.queue) == 3)


def sealed_pair() -> pb.Position:
    return first("nifty", lambda p: p.turn == 2 and any(seat.chosen_cards for seat in p.seats))


def acting() -> pb.Position:
    return first("hand", lambda p: p.turn == 5 and p.phase == pb.PHASE_ACTING and any(s.public_hand for s in p.seats))


def dividing() -> pb.Position:
    """A full row that a card has fitted."""

    def wanted(position: pb.Position) -> bool:
        row = position.rows[position.keep_choice.row].cards
        return position.HasField("keep_choice") and len(row) == 5 and position.queue[0].card > row[-1]

    return first("hand", wanted)


def shared() -> pb.Position:
    return first("double", lambda p: len(p.common_pile) > 0 and p.phase == pb.PHASE_SELECTION, 6)


def joint() -> pb.Position:
    return first("double", lambda p: len(p.queue) > 1 and p.queue[0].card == p.queue[1].card, 6)


def move(cards: Any, target: Any) -> None:
    """Put the last card of one list into another."""
    target.append(cards.pop())


BROKEN: dict[str, tuple[Callable[[], pb.Position], Damage, str]] = {
    "draft: pool out of order": (drafting, lambda p: p.pool.__setitem__(slice(None), p.pool[::-1]), "pool ascend"),
    "draft: another starter": (drafting, lambda p: setattr(p, "starter", (p.starter + 1) % 3), "draft in turn"),
    "draft: no starter": (drafting, lambda p: p.ClearField("starter"), "draft in turn"),
    "draft: rows too early": (drafting, lambda p: p.rows.add().cards.append(p.pool.pop()), "draft is over"),
    "draft: a secret hand": (drafting, lambda p: p.seats[0].ClearField("public_hand"), "is public"),
    "draft: in turn 1": (drafting, lambda p: setattr(p, "turn", 1), "turns 1 to"),
    "draft: another phase": (drafting, lambda p: setattr(p, "phase", pb.PHASE_SELECTION), "phase"),
    "draft: decision too high": (drafting, lambda p: setattr(p, "decision", p.decision + 1), "decision"),
    "logic: a secret choice that is no card of the known hand": (
        sealed,
        lambda p: p.seats[0].public_hand.pop(),
        "is public",
    ),
    "logic: cards left in the pool": (sealed, lambda p: p.pool.append(p.seats[0].hand.pop()), "draft is over"),
    "logic: hand lists": (sealed, lambda p: p.hand_lists.add(), "go round"),
    "tournament: a list too few": (second_game, lambda p: p.hand_lists.pop(), "drafted a hand"),
    "tournament: lists changed": (second_game, lambda p: p.hand_lists.insert(0, p.hand_lists.pop()), "hand whose turn"),
    "tournament: a list too short": (second_game, lambda p: p.hand_lists[0].cards.pop(), "whole hand"),
    "tournament: fourth game of three": (
        second_game,
        lambda p: setattr(p, "round", 4),
        "hand whose turn|rounds 1 to 3",
    ),
    "professional: another seat": (two_ends, lambda p: setattr(p.end_choice, "seat", 9), "lowest revealed card"),
    "professional: a third end": (two_ends, lambda p: p.end_choice.ends.add(row=3, side=pb.SIDE_LEFT), "another phase"),
    "professional: a row instead": (
        two_ends,
        lambda p: (p.ClearField("end_choice"), p.row_choice.CopyFrom(p.queue[0])),
        "lowest revealed card",
    ),
    "professional: both choices": (two_ends, lambda p: p.row_choice.CopyFrom(p.queue[0]), "one choice is pending"),
    "open: another marker": (laying, lambda p: setattr(p, "starter", (p.starter + 1) % 3), "lay in turn"),
    "open: marker of no seat": (laying, lambda p: setattr(p, "starter", 3), "seat begins"),
    "open: laid twice": (
        laying,
        lambda p: p.queue.add(seat=p.queue[0].seat, card=p.seats[0].hand.pop()),
        "lay in turn",
    ),
    "open: card 1": (laying, lambda p: p.undealt.__setitem__(0, 1), "2 to 104"),
    "open: sealed": (laying, lambda p: setattr(p.seats[0], "chosen", p.undealt.pop()), "sealed|not dealt"),
    "nifty: pair out of order": (ordering, lambda p: p.queue.insert(0, p.queue.pop(1)), "order is chosen"),
    "nifty: pairs out of order": (ordering, lambda p: p.queue.extend([p.queue.pop(0), p.queue.pop(0)]), "lower cards"),
    "nifty: order of half a pair": (
        half_a_pair,
        lambda p: (p.ClearField("row_choice"), p.order_choice.SetInParent()),
        "first seat|order is chosen|another phase",
    ),
    "nifty: one sealed card": (
        sealed_pair,
        lambda p: next(move(s.chosen_cards, s.hand) for s in p.seats if s.chosen_cards),
        "choice is whole|hand ascend",
    ),
    "nifty: sealed pair out of order": (
        sealed_pair,
        lambda p: next(s.chosen_cards.reverse() for s in p.seats if s.chosen_cards),
        "sealed cards ascend",
    ),
    "hand: another starter": (dividing, lambda p: setattr(p, "starter", (p.starter + 1) % 3), "seat on turn"),
    "hand: another row": (dividing, lambda p: setattr(p.keep_choice, "row", (p.keep_choice.row + 1) % 4), "collected"),
    "hand: row 4": (dividing, lambda p: setattr(p.keep_choice, "row", 4), "4 rows|collected"),
    "hand: more may be kept": (dividing, lambda p: setattr(p.keep_choice, "most", 14), "another phase"),
    "hand: cycle 101": (acting, lambda p: setattr(p, "turn", 302), "turns 1 to 300"),
    "hand: a public card elsewhere": (acting, lambda p: p.seats[0].public_hand.append(p.undealt[0]), "public cards"),
    "hand: a large hand": (
        acting,
        lambda p: [move(p.seats[1].hand, p.undealt) for _ in p.seats[1].hand[:]],
        "not dealt|empties a hand",
    ),
    "double: shared points wrong": (shared, lambda p: setattr(p.seats[0], "shared_points", 99), "another phase"),
    "double: shared points missing": (shared, lambda p: p.seats[0].ClearField("shared_points"), "another phase"),
    "double: shared by nobody": (
        shared,
        lambda p: [setattr(seat, "round_points", seat.round_points - seat.shared_points) for seat in p.seats],
        "common pile",
    ),
    "double: a card three times": (shared, lambda p: p.undealt.__setitem__(0, p.rows[0].cards[0]), "the pack"),
    "double: the other seat chooses": (
        joint,
        lambda p: setattr(
            p.row_choice, "seat", p.queue[0].seat if p.row_choice.seat != p.queue[0].seat else p.queue[1].seat
        ),
        "lowest revealed card",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_impossible_position_of_a_variant_is_refused(name: str) -> None:
    make, damage, says = BROKEN[name]
    position = make()
    assert GAME.position(GAME.from_position(position)) == position
    damage(position)
    with pytest.raises(ValueError, match=says):
        GAME.from_position(position)


# -- anything that loads can be played on --------------------------------------------------------


def parts(message: Any) -> Iterator[tuple[Any, Any]]:
    """Every field that is set, with the message that has it."""
    for field, value in message.ListFields():
        if field.name == "options":
            continue
        yield message, field
        if field.message_type is not None:
            for each in value if field.is_repeated else [value]:
                yield from parts(each)


def damage(position: pb.Position, random: Random) -> None:
    """Change one field somehow."""
    message, field = random.choice(list(parts(position)))
    value = getattr(message, field.name)
    if not field.is_repeated:
        if field.message_type is not None or random.random() < 0.2:
            message.ClearField(field.name)
        else:
            limit = 8 if field.enum_type is not None else 110
            setattr(message, field.name, random.choice([value + 1, max(value - 1, 0), random.randrange(limit)]))
    elif random.random() < 0.3:
        value.pop(random.randrange(len(value)))
    elif field.message_type is not None:
        value.add().CopyFrom(random.choice(list(value)))
    else:
        value[random.randrange(len(value))] = random.randrange(110)


def exchange(position: pb.Position, random: Random) -> None:
    """Exchange two cards, keeping what ascends ascending: many such positions are possible ones."""
    lists = [
        (message, field.name)
        for message, field in parts(position)
        if field.is_repeated and field.message_type is None and field.name in ("cards", "hand", "pile", "undealt")
    ]
    (one, its), (two, other) = random.choice(lists), random.choice(lists)
    cards, others = getattr(one, its), getattr(two, other)
    at, to = random.randrange(len(cards)), random.randrange(len(others))
    cards[at], others[to] = others[to], cards[at]
    for message, name in ((one, its), (two, other)):
        if name in ("cards", "hand"):
            getattr(message, name)[:] = sorted(getattr(message, name))


@pytest.mark.parametrize("name", SETUPS)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_damaged_position_is_refused_or_can_be_played_to_its_end(name: str, seed: int) -> None:
    random, table = Random(seed), Table(GAME, SETUPS[name], seed)
    for _ in table.play_on(random, random.randrange(120)):
        pass
    whole = table.position
    for _ in range(30):
        position = pb.Position()
        position.CopyFrom(whole)
        random.choice([damage, exchange])(position, random)
        try:
            table.state = GAME.from_position(position)
        except ValueError:
            continue
        assert GAME.position(table.state) == position
        for _ in table.play_on(random):
            pass
        assert table.over
        check(table.position)
