"""Starting, rolled values, legal commands, leaving, and messages that are no commands or events of the game."""

from __future__ import annotations

import pytest
from sixledger.engine.chance import Chance
from sixledger.engine.errors import EpochSealed, IllegalCommand, MalformedCommand
from sixledger.engine.game import ABORTED, FORFEIT, RESIGNED, run
from sixledger.engine.piece import GAME
from sixledger.engine.piece.cards import add, rolls, subtract
from sixledger.games.piece.v1 import piece_pb2 as pb
from support.matches import Table
from support.piece import roll
from support.text import show_command

CHANCE = Chance.from_key(bytes(32))


def table(seed: int = 1, **options: object) -> Table:
    return Table(GAME, GAME.complete(2, pb.Options(**options)), seed)  # type: ignore[arg-type]  # options by name


def flipped(card: int) -> list[str]:
    """The legal commands of seat 0, which has flipped `card` in turn 3; no Beast lies open."""
    used = [1, 2, 3, 4, 5, 6] * 2 + [9, 9]
    used.remove(card)
    used.remove(3)
    position = pb.Position(
        players=2,
        options=GAME.complete(2, pb.Options(beasts=[9, 9])).options,
        phase=pb.PHASE_DECIDE,
        turn=3,
        decision=5,
        decks=[pb.DeckCards(cards=used[:2]), pb.DeckCards(cards=used[2:])],
        root=3,
        left=pb.StackState(die=3),
        right=pb.StackState(die=3),
        flipped=card,
    )
    state = GAME.from_position(position)
    assert GAME.legal(state, 1) == []
    return [show_command(GAME, command) for command in GAME.legal(state, 0)]


# -- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("card", "value"), [(7, 1), (11, 5), (12, 6), (13, 1), (18, 6), *((n, n) for n in range(1, 7))]
)
def test_rolled_values(card: int, value: int) -> None:
    """Vector S-3."""
    assert rolls(pb.Options())[card] == value


def test_the_value_of_the_13_changes_nothing_else() -> None:
    """Vector S-3."""
    for number in range(1, 19):
        for value in (1, 2):
            options = pb.Options(beasts=[13, 13], beast_13_value=value)
            assert rolls(options)[number] == roll(number, options)
    assert rolls(pb.Options(beasts=[13, 13], beast_13_value=2))[13] == 2


def test_a_die_goes_round_in_both_directions() -> None:
    assert [[add(die, value) for value in range(1, 7)] for die in (1, 5, 6)] == [
        [2, 3, 4, 5, 6, 1],
        [6, 1, 2, 3, 4, 5],
        [1, 2, 3, 4, 5, 6],
    ]
    assert [subtract(die) for die in range(1, 7)] == [6, 1, 2, 3, 4, 5]


# -- starting ------------------------------------------------------------------------------------


@pytest.mark.parametrize("beasts", [[], [18, 7]])
def test_each_deck_is_shuffled_from_ascending_order_with_the_beast_last(beasts: list[int]) -> None:
    match = table(beasts=beasts)
    decks = [[1, 2, 3, 4, 5, 6, *beasts[seat : seat + 1]] for seat in range(2)]
    orders = [match.chance.stream(1, f"deck/{seat}").shuffle(decks[seat]) for seat in range(2)]
    first = match.chance.stream(1, "first-player").below(2)
    assert [event for _, event in match.records[0].events] == [
        pb.MatchStarted(options=match.setup.options, first_player=first),
        pb.DeckShuffled(seat=0, size=len(orders[0]), order=orders[0]),
        pb.DeckShuffled(seat=1, size=len(orders[1]), order=orders[1]),
        pb.TurnStarted(turn=1, seat=first),
        pb.CardFlipped(seat=first, card=orders[first][0]),
    ]


@pytest.mark.parametrize("first", [0, 1])
def test_the_first_player_may_be_given(first: int) -> None:
    for seed in range(4):
        match = table(seed, first_player=pb.FIRST_PLAYER_SEAT_0 + first)
        assert GAME.decision(match.state).seats == (first,)


def test_the_first_player_is_drawn_otherwise() -> None:
    assert {GAME.decision(table(seed).state).seats for seed in range(20)} == {(0,), (1,)}


def test_a_match_starts_once() -> None:
    started = table()
    with pytest.raises(ValueError, match="has begun"):
        list(GAME.start(started.state, started.setup, CHANCE))


def test_without_the_seed_no_match_can_start() -> None:
    state = GAME.blank()
    with pytest.raises(EpochSealed):
        run(
            GAME,
            state,
            GAME.start(state, GAME.complete(2, pb.Options(first_player=pb.FIRST_PLAYER_SEAT_0)), Chance.sealed()),
        )


def test_a_blank_state_waits_for_nobody() -> None:
    state = GAME.blank()
    assert GAME.decision(state).seats == ()
    assert GAME.outcome(state) is None
    assert GAME.epoch(state) == 0
    assert GAME.view(state, None) == pb.View(players=2, options=pb.Options())
    assert GAME.table_legal(state) == []
    for seat, command in ((0, pb.Decline()), (None, pb.TimeUp())):
        with pytest.raises(IllegalCommand, match="has not begun"):
            list(GAME.play(state, seat, command, CHANCE))
    with pytest.raises(IllegalCommand, match="has not begun"):
        list(GAME.leave(state, ABORTED, None))


# -- legal commands ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("card", "uses"),
    [
        (1, ["ability=1 deck=DECK_OWN", "ability=1 deck=DECK_OPPONENT"]),
        (2, ["ability=2"]),
        (4, ["ability=4"]),
        (5, ["ability=5"]),
        (6, ["ability=6 die=STACK_LEFT", "ability=6 die=STACK_RIGHT"]),
    ],
)
def test_a_number_has_its_own_ability(card: int, uses: list[str]) -> None:
    assert flipped(card) == ["decline", *(f"use_ability {use}" for use in uses)]


def test_a_beast_has_all_abilities_in_order() -> None:
    assert flipped(9) == [
        "decline",
        "use_ability ability=1 deck=DECK_OWN",
        "use_ability ability=1 deck=DECK_OPPONENT",
        *(f"use_ability ability={ability}" for ability in (2, 3, 4, 5)),
        "use_ability ability=6 die=STACK_LEFT",
        "use_ability ability=6 die=STACK_RIGHT",
    ]


def test_a_beast_on_the_first_turn_has_no_die_to_subtract_from() -> None:
    for seed in range(100):
        match = table(seed, beasts=[9, 9])
        if match.state.flipped == 9:
            commands = GAME.legal(match.state, match.state.seat)
            assert len(commands) == 7
            assert not any(isinstance(each, pb.UseAbility) and each.ability == 6 for each in commands)
            return
    raise AssertionError("no Beast came first")


def test_beast_is_guessed_last_and_only_with_beasts() -> None:
    for beasts, most in (([], 6), ([7, 7], 7)):
        match = table(3, beasts=beasts)
        match.state.phase, match.state.ability = pb.PHASE_GUESS, 5
        guesses = GAME.legal(match.state, 1 - match.state.seat)
        assert [guess.value for guess in guesses] == list(range(1, most + 1))  # type: ignore[attr-defined]


# -- what is no command or event -----------------------------------------------------------------


@pytest.mark.parametrize("message", [pb.Command(), pb.Declined(seat=0), pb.Options()])
@pytest.mark.parametrize("seat", [0, None])
def test_a_message_that_is_no_command_is_malformed(message: object, seat: int | None) -> None:
    with pytest.raises(MalformedCommand, match="no command of 6piece"):
        list(GAME.play(table().state, seat, message, CHANCE))


@pytest.mark.parametrize("seat", [-1, 2])
@pytest.mark.parametrize("command", [pb.Decline(), pb.TimeUp()])
def test_a_seat_that_does_not_exist_is_malformed(seat: int, command: object) -> None:
    with pytest.raises(MalformedCommand, match="no seat"):
        list(GAME.play(table(time_mode=pb.TIME_MODE_CLOCK).state, seat, command, CHANCE))
    with pytest.raises(MalformedCommand, match="no seat"):
        list(GAME.leave(table().state, RESIGNED, seat))


def test_a_malformed_command_is_named_before_anything_else() -> None:
    match = table()
    match.leave(ABORTED, None)
    for command, field in [
        (pb.UseAbility(), "ability"),
        (pb.UseAbility(ability=1), "deck"),
        (pb.UseAbility(ability=1, deck=3), "deck"),  # type: ignore[arg-type]  # as it may arrive
        (pb.UseAbility(ability=2, deck=pb.DECK_OWN), "deck"),
        (pb.UseAbility(ability=2, die=0), "die"),  # type: ignore[arg-type]  # as it may arrive
        (pb.Place(), "stack"),
        (pb.Place(stack=3), "stack"),  # type: ignore[arg-type]  # as it may arrive
        (pb.Guess(), "value"),
        (pb.Guess(value=8), "value"),  # type: ignore[arg-type]  # as it may arrive
    ]:
        with pytest.raises(MalformedCommand) as caught:
            list(GAME.play(match.state, 1, command, CHANCE))
        assert caught.value.field == field
    with pytest.raises(IllegalCommand) as refused:
        list(GAME.play(match.state, 1, pb.Decline(), CHANCE))
    assert refused.value.rule == "finished"


def test_a_message_that_is_no_event_cannot_be_applied() -> None:
    with pytest.raises(TypeError, match="no event of 6piece"):
        GAME.evolve(GAME.blank(), pb.TimeUp())


def test_a_view_of_no_seat_is_refused() -> None:
    for seat in (-1, 2):
        with pytest.raises(ValueError, match="no seat"):
            GAME.view(table().state, seat)


# -- leaving -------------------------------------------------------------------------------------


@pytest.mark.parametrize("leaver", [0, 1])
@pytest.mark.parametrize(("reason", "ended"), [(RESIGNED, "resigned"), (FORFEIT, "forfeit")])
def test_the_other_one_wins(reason: str, ended: str, leaver: int) -> None:
    match = table()
    match.leave(reason, leaver)
    outcome = GAME.outcome(match.state)
    assert outcome is not None
    assert outcome.winners == (1 - leaver,)
    assert outcome.ranking[leaver] == 2
    assert outcome.reason == ended
    assert sorted(outcome.scores) == [5, 6]


def test_an_aborted_match_has_scores_but_no_winners() -> None:
    match = table(first_player=pb.FIRST_PLAYER_SEAT_1)
    match.leave(ABORTED, None)
    outcome = GAME.outcome(match.state)
    assert outcome is not None
    assert (outcome.scores, outcome.winners, outcome.ranking, outcome.reason) == ((6, 5), (), (), "aborted")


@pytest.mark.parametrize(("reason", "seat"), [("bored", 0), (RESIGNED, None), (FORFEIT, None)])
def test_leaving_needs_a_known_reason_and_a_seat(reason: str, seat: int | None) -> None:
    with pytest.raises(ValueError, match="nobody leaves"):
        list(GAME.leave(table().state, reason, seat))


# -- copies --------------------------------------------------------------------------------------


def test_every_field_of_a_state_is_copied_and_no_list_is_shared() -> None:
    match = table(discard=True)
    copy = GAME.copy(match.state)
    for name in type(copy).__slots__:
        own, other = getattr(match.state, name), getattr(copy, name)
        assert own == other
        assert not isinstance(own, list) or own is not other


def test_the_repr_of_a_state_shows_no_deck() -> None:
    match = table(7)
    assert all(str(deck).strip("()") not in repr(match.state) for deck in match.state.decks)
