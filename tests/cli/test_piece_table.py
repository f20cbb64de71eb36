"""6piece at the terminal: the table as text of 80 columns, what happened in words, what can be typed."""

from __future__ import annotations

import io
from random import Random
from textwrap import dedent
from typing import Any

import pytest
from rich.console import Console, RenderableType
from sixledger.cli.piece_prompt import PiecePrompt
from sixledger.cli.prompts import prompt_for
from sixledger.cli.render import drawing
from sixledger.cli.terminal import THEME
from sixledger.engine.piece import GAME
from sixledger.games.piece.v1 import piece_pb2 as pb
from support.command_line import CommandLine
from support.matches import Table, setups

NAMES = ["Anna", "Maximilian-Friedrich"]
PIECE = drawing("piece")


def drawn(*parts: RenderableType, width: int = 80) -> str:
    """The text on a terminal without colour, without the blanks at line ends."""
    screen = io.StringIO()
    console = Console(file=screen, width=width, theme=THEME, color_system=None)
    for part in parts:
        console.print(part)
    return "\n".join(line.rstrip() for line in screen.getvalue().splitlines()) + "\n"


def picture(text: str) -> str:
    """The expected text, written with the indentation of the test."""
    return dedent(text).removeprefix("\n")


def view_of(viewer: int | None = 0, **fields: Any) -> pb.View:
    """The view of a position in turn 7; what is not given is as in a match with two Beasts."""
    given = {
        "options": GAME.complete(2, pb.Options(beasts=[9, 14], discard=True)).options,
        "phase": pb.PHASE_DECIDE,
        "turn": 7,
        "decision": 15,
        "decks": [pb.DeckCards(cards=[2, 6]), pb.DeckCards(cards=[5, 3, 4])],
        "root": 9,
        "left": pb.StackState(cards=[1, 4, 2], die=4),
        "right": pb.StackState(cards=[1, 5], die=5),
        "flipped": 14,
        "discards": [3, 6],
    }
    return GAME.view(GAME.from_position(pb.Position(players=2, **(given | fields))), viewer)


def test_a_beast_lies_open() -> None:
    view = view_of()
    assert drawn(PIECE.table(view, NAMES, [2]), PiecePrompt().question(view)) == picture(
        """
         6piece   turn 7: your turn  ·  ends after turn 200 at the latest

                         ╭──╭──╭───╮
          left   die [4] │1 │4 │ 2 │
                         ╰──╰──╰───╯
                         ╔═══╗
          root   = 3     ║ 9 ║
                         ╚═══╝
                         ╭──╭───╮
          right  die [5] │1 │ 5 │
                         ╰──╰───╯

        ▸ Anna           ▮▮             2 cards  player one
          Maximilian-Fr… ▮▮▮            3 cards  player two
          out of the game: 3 6

                         ╔═══╗  a Beast that counts 2
          open card      ║14 ║  any ability of 1 to 6
                         ╚═══╝
        Your ability (n, 1 own, 1 opponent, 2, 3, 4, 5, 6 left, 6 right)
        """
    )


def test_a_spectator_sees_names_and_the_end_of_a_match() -> None:
    view = view_of(
        None,
        options=GAME.complete(2, pb.Options(time_mode=pb.TIME_MODE_TURNS, turn_limit=8)).options,
        phase=pb.PHASE_ENDED,
        turn=8,
        decks=[pb.DeckCards(cards=[2, 6, 5]), pb.DeckCards(cards=[3, 4, 6])],
        root=3,
        left=pb.StackState(cards=[1, 4, 2], die=4),
        right=pb.StackState(cards=[1, 5], die=3),
        flipped=None,
        discards=[],
        decision=20,
        result=pb.MatchEnded(scores=[3, 3], winners=[0, 1], ranking=[1, 1], reason=pb.END_REASON_TIME),
    )
    assert drawn(PIECE.table(view, NAMES), PIECE.ranking(view, NAMES)) == picture(
        """
         6piece   after turn 8: the match has ended

                         ╭──╭──╭───╮
          left   die [4] │1 │4 │ 2 │
                         ╰──╰──╰───╯
                         ╭───╮
          root   = 3     │ 3 │
                         ╰───╯
                         ╭──╭───╮
          right  die [3] │1 │ 5 │
                         ╰──╰───╯

          Anna           ▮▮▮            3 cards  player one
          Maximilian-Fr… ▮▮▮            3 cards  player two
        Final ranking
           1.  Anna                  3 cards   a tie
           1.  Maximilian-Friedrich  3 cards   a tie
        """
    )


def test_a_narrow_terminal_gets_numbers() -> None:
    view = view_of(1, phase=pb.PHASE_PLACE, ability=2, decision=16, beast_look=True)
    assert drawn(PIECE.table(view, NAMES), width=48) == picture(
        """
         6piece   turn 7: Anna’s turn  ·  ends after
        turn 200 at the latest

          left   die [4] 1 4 2
          root   = 3     9
          right  die [5] 1 5

        ▸ Anna           ▮▮             2 cards
          Maximilian-Fr… ▮▮▮            3 cards
          out of the game: 3 6

          open card      14
          a Beast that counts 2
          after ability 2: to be placed left or right
        """
    )


def test_the_first_card_lies_open() -> None:
    table = Table(GAME, GAME.complete(2, pb.Options(first_player=pb.FIRST_PLAYER_SEAT_0)), 1)
    assert drawn(PIECE.table(GAME.view(table.state, 1), NAMES)) == picture(
        """
         6piece   turn 1: Anna’s turn  ·  ends after turn 200 at the latest

          left   no die  ·
          root   none yet ·
          right  no die  ·

        ▸ Anna           ▮▮▮▮▮          5 cards  player one
          Maximilian-Fr… ▮▮▮▮▮▮         6 cards  player two

                         ╭───╮
          open card      │ 3 │  exchange it for the opponent’s bottom card
                         ╰───╯
        """
    )


@pytest.mark.parametrize("name", setups(GAME))
@pytest.mark.parametrize("viewer", [None, 0, 1])
def test_no_table_is_larger_than_a_terminal_of_80_by_24(name: str, viewer: int | None) -> None:
    for seed in range(5):
        table = Table(GAME, setups(GAME)[name], seed)
        for record in table.play_on(Random(seed)):
            view = GAME.view(table.state, viewer)
            fresh = [event.card for _, event in record.events if isinstance(event, pb.CardPlaced)]
            parts = [PIECE.table(view, NAMES, fresh)]
            if view.legal:
                parts.append(PiecePrompt().question(view))
            lines = drawn(*parts).splitlines()
            assert len(lines) <= 22
            assert max(map(len, lines)) <= 80


# -- words ---------------------------------------------------------------------------------------


def told(viewer: int | None, *events: Any) -> list[str]:
    return [line.plain for line in PIECE.tell(events, ["Anna", "Bea"], viewer)]


def test_a_turn_is_one_line_and_a_six_piece_another() -> None:
    events = [
        pb.TurnStarted(turn=3, seat=0),
        pb.CardFlipped(seat=0, card=3),
        pb.AbilityUsed(seat=0, ability=3, card=3),
        pb.CardsSwapped(seat=0, given=3, received=2),
        pb.CardPlaced(seat=0, card=2, where=pb.WHERE_LEFT),
        pb.DieSet(stack=pb.STACK_LEFT, value=6, cause=pb.DIE_CAUSE_PLACE),
        pb.CardDiscarded(stack=pb.STACK_LEFT, card=5),
        pb.SixPiece(seat=0, stacks=[pb.STACK_LEFT], cards=[1, 2]),
        pb.DieSet(stack=pb.STACK_LEFT, value=1, cause=pb.DIE_CAUSE_RESET),
        pb.TurnEnded(turn=3, deck_sizes=[4, 4]),
    ]
    assert told(None, *events) == [
        "Anna turns up 3 · Anna uses ability 3 · 3 goes under Bea’s deck, 2 comes up · 2 → left · die 6"
        " · 5 leaves the game",
        "» Six piece! Anna takes left: 1 2",
    ]
    assert told(0, *events)[1] == "» Six piece! you take left: 1 2"


@pytest.mark.parametrize(
    ("viewer", "event", "words"),
    [
        (0, pb.DeckLooked(seat=0, deck=pb.DECK_OPPONENT, cards=[4, 2]), "you look through Bea’s deck: 4 2"),
        (0, pb.DeckLooked(seat=0, deck=pb.DECK_OWN, cards=[4]), "you look through your deck: 4"),
        (1, pb.DeckLooked(seat=0, deck=pb.DECK_OPPONENT), "Anna looks through your deck"),
        (None, pb.DeckLooked(seat=0, deck=pb.DECK_OWN), "Anna looks through the own deck"),
        (0, pb.BottomLooked(seat=0, card=6), "your bottom card is 6"),
        (1, pb.BottomLooked(seat=0), "Anna looks at the own bottom card"),
        (1, pb.BottomToTop(deck_of=1), "your bottom card goes to the top"),
        (0, pb.CardRevealed(deck_of=1, card=4), "Bea’s top card is 4"),
        (0, pb.CardLost(**{"from": 0, "to": 1, "card": 10}), "10 is lost under Bea’s deck"),
        (1, pb.GuessMade(seat=1, value=pb.GUESS_VALUE_BEAST, next_card=3), "you guess beast, it is 3: wrong"),
        (0, pb.GuessMade(seat=1, value=pb.GUESS_VALUE_TWO, next_card=2, correct=True), "Bea guesses 2, it is 2: right"),
        (1, pb.BottomGiven(**{"from": 1, "to": 0}), "your bottom card goes under Anna’s deck"),
        (None, pb.DieSet(stack=pb.STACK_RIGHT, value=6, cause=pb.DIE_CAUSE_SUBTRACT), "the right die shows 6"),
        (None, pb.DieSet(stack=pb.STACK_LEFT, value=6, cause=pb.DIE_CAUSE_ROOT), "both dice 6"),
        (None, pb.CardPlaced(seat=1, card=6, where=pb.WHERE_ROOT), "6 is the root"),
        (
            None,
            pb.SixPiece(seat=1, stacks=[pb.STACK_LEFT, pb.STACK_RIGHT]),
            "» Six piece! Bea takes left and right: no card is left",
        ),
        (1, pb.LastChance(seat=1), "Anna has no card left: you have a last turn"),
        (0, pb.TimeCalled(turn=3), "Time is up: the match ends with the turn of the second player."),
        (
            0,
            pb.MatchEnded(winners=[0], reason=pb.END_REASON_EMPTY_DECK),
            "The match has ended: a deck is empty. you win!",
        ),
        (0, pb.MatchEnded(winners=[0, 1], reason=pb.END_REASON_TIME), "The match has ended: time is up. It is a tie."),
    ],
)
def test_what_happened_in_words(viewer: int | None, event: Any, words: str) -> None:
    assert told(viewer, event) == [words]


@pytest.mark.parametrize("name", setups(GAME))
def test_every_match_can_be_told_to_everybody(name: str) -> None:
    table = Table(GAME, setups(GAME)[name], 3)
    for _ in table.play_on(Random(3)):
        pass
    for viewer in (None, 0, 1):
        lines = [line for record in table.records for line in told(viewer, *(event for _, event in record.events))]
        assert any("turns up" in line for line in lines)
        assert lines[-1].startswith("The match has ended")


# -- what is typed -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        ("n", pb.Decline()),
        ("1 own", pb.UseAbility(ability=1, deck=pb.DECK_OWN)),
        ("1 OPP", pb.UseAbility(ability=1, deck=pb.DECK_OPPONENT)),
        (" 5", pb.UseAbility(ability=5)),
        ("6  left", pb.UseAbility(ability=6, die=pb.STACK_LEFT)),
        ("6 r", pb.UseAbility(ability=6, die=pb.STACK_RIGHT)),
    ],
)
def test_an_ability_is_typed_by_its_number(typed: str, command: object) -> None:
    assert prompt_for("piece").read(view_of(), typed) == command


def test_a_stack_or_a_guess_is_typed_by_its_name() -> None:
    prompt = prompt_for("piece")
    view = view_of(phase=pb.PHASE_PLACE, decision=16)
    assert prompt.question(view).plain == "Your stack (left, right)"
    assert prompt.read(view, "l") == pb.Place(stack=pb.STACK_LEFT)
    guesses = pb.View(phase=pb.PHASE_GUESS, legal=[pb.Command(guess=pb.Guess(value=value)) for value in range(1, 8)])  # type: ignore[arg-type]  # by number
    assert prompt.question(guesses).plain == "Your guess (1, 2, 3, 4, 5, 6, beast)"
    assert prompt.read(guesses, "beast") == pb.Guess(value=pb.GUESS_VALUE_BEAST)


@pytest.mark.parametrize("typed", ["", "7", "1", "left", "6"])
def test_what_is_not_possible_is_answered_with_what_is(typed: str) -> None:
    with pytest.raises(ValueError, match="type one of n, 1 own, 1 opponent, 2, 3, 4, 5, 6 left, 6 right"):
        prompt_for("piece").read(view_of(), typed)


def test_a_match_can_be_played_at_the_terminal(sixledger: CommandLine) -> None:
    done = sixledger("play", "piece", "--bots", "1", "--seed", "4", typed="n\nleft\n" * 3 + "q\ny\n")
    assert "6piece" in done.out
    assert "The match has ended" in done.out
