"""6 Forces at the terminal: the table as text of 80 columns, what happened in words, what can be typed."""

from __future__ import annotations

import io
from random import Random
from textwrap import dedent

import pytest
from rich.console import Console, RenderableType
from sixledger.cli.forces_prompt import ForcesPrompt
from sixledger.cli.prompts import prompt_for
from sixledger.cli.render import drawing
from sixledger.cli.terminal import THEME
from sixledger.engine.forces import GAME
from sixledger.games.forces.v1 import forces_pb2 as pb
from support.command_line import CommandLine
from support.forces import card
from support.matches import Table

NAMES = ["Anna", "Ada", "Maximilian-Friedrich", "Clara"]
FORCES = drawing("forces")


def drawn(*parts: RenderableType, width: int = 80) -> str:
    """The text on a terminal without colour, without the blanks at line ends."""
    screen = io.StringIO()
    console = Console(file=screen, width=width, theme=THEME, color_system=None)
    for part in parts:
        console.print(part)
    return "\n".join(line.rstrip() for line in screen.getvalue().splitlines()) + "\n"


def picture(text: str) -> str:
    """The expected text, written with the indentation of the test."""
    return dedent(text).removeprefix("\n").replace("|", "")


def cards(codes: str) -> list[pb.Card]:
    return [card(code) for code in codes.split()]


def planning() -> pb.View:
    """The second pass of the second deal: seat 0 must predict, three chips are left."""
    return pb.View(
        viewer=0,
        players=4,
        options=pb.Options(deals=4),
        phase=pb.PHASE_PLANNING,
        deal=2,
        planning_pass=2,
        supply=3,
        seats=[
            pb.SeatView(
                seat=0,
                hand_count=12,
                hand=cards("R1 R2 R10 Y3 Y12 B4 B5 B6 G7 G8 G9 G12"),
                trump=pb.TRUMP_RED,
                total=-3,
            ),
            pb.SeatView(seat=1, hand_count=12, prediction=pb.Prediction(prediction=5, flex=True), total=8),
            pb.SeatView(seat=2, hand_count=12, prediction=pb.Prediction(prediction=6), trump=pb.TRUMP_HIGH, total=12),
            pb.SeatView(seat=3, hand_count=12, trump=pb.TRUMP_BLUE, total=-12),
        ],
        to_act=[0],
        legal=[
            pb.Command(predict=pb.Predict(prediction=tricks, flex=flex))
            for tricks, flex in ((0, False), (0, True), (1, False), (1, True), (2, False), (2, True), (3, False))
        ],
    )


def trick(viewer: int | None = 0) -> pb.View:
    """The eleventh trick of a deal: seat 3 leads, seat 0 must follow."""
    view = pb.View(
        viewer=viewer,
        players=4,
        options=pb.Options(deals=4),
        phase=pb.PHASE_TRICKS,
        deal=1,
        trick=11,
        leader=3,
        seats=[
            pb.SeatView(seat=0, hand_count=2, prediction=pb.Prediction(prediction=2), trump=pb.TRUMP_RED, tricks_won=2),
            pb.SeatView(
                seat=1,
                hand_count=2,
                prediction=pb.Prediction(prediction=5, flex=True),
                trump=pb.TRUMP_LOW,
                tricks_won=4,
            ),
            pb.SeatView(
                seat=2, hand_count=2, prediction=pb.Prediction(prediction=3), trump=pb.TRUMP_YELLOW, tricks_won=4
            ),
            pb.SeatView(seat=3, hand_count=1, prediction=pb.Prediction(prediction=0), trump=pb.TRUMP_HIGH),
        ],
        table=cards("G10"),
        to_act=[0],
    )
    if viewer == 0:
        view.seats[0].hand.extend(cards("Y10 G2"))
        view.legal.add(play_card=pb.PlayCard(card=card("G2")))
    return view


def test_the_table_while_planning() -> None:
    assert drawn(FORCES.table(planning(), NAMES)) == picture(
        """
        | 6 Forces   deal 2 of 4, planning, pass 2 of 2  ·  3 chips left

        |             trump  says     won total
        |▸ Anna       RED    ·          0    -3
        |  Ada        ·      5 or 6     0     8
        |  Maximilia… HIGH   6          0    12
        |  Clara      BLUE   ·          0   -12

        | your hand
        |   ╭────╮╭────╮╭────╮╭────╮╭────╮╭────╮╭────╮╭────╮╭────╮╭────╮╭────╮╭────╮
        |   │ R1 ││ R2 ││R10 ││ Y3 ││Y12 ││ B4 ││ B5 ││ B6 ││ G7 ││ G8 ││ G9 ││G12 │
        |   ╰────╯╰────╯╰────╯╰────╯╰────╯╰────╯╰────╯╰────╯╰────╯╰────╯╰────╯╰────╯
        """
    )


def test_the_table_during_a_trick() -> None:
    """The trick lies in the order of play beside the seats; what cannot be played has broken edges."""
    assert drawn(FORCES.table(trick(), NAMES)) == picture(
        """
        | 6 Forces   deal 1 of 4, trick 11 of 12

        |             trump  says     won total    trick HIGH
        |▸ Anna       RED    2          2     0    Clara   Anna    Ada     Maxim…
        |  Ada        LOW    5 or 6     4     0    ╭────╮
        |  Maximilia… YELLOW 3          4     0    │G10 │    ··      ··      ··
        |  Clara      HIGH   0          0     0    ╰────╯

        | your hand
        |   ┌╌╌╌╌┐╭────╮
        |   ┆Y10 ┆│ G2 │
        |   └╌╌╌╌┘╰────╯
        """
    )


def test_a_narrow_terminal_gets_codes() -> None:
    shown = drawn(FORCES.table(trick(), NAMES), width=50)
    assert "  trick HIGH: G10" in shown
    assert "    (Y10) G2" in shown
    assert max(map(len, shown.splitlines())) <= 50


def test_a_spectator_sees_no_hand() -> None:
    shown = drawn(FORCES.table(trick(None), NAMES))
    assert "hand" not in shown
    assert "G2" not in shown


@pytest.mark.parametrize("seats", [3, 4])
def test_the_table_and_the_question_fit_80_columns_and_24_lines_at_every_decision(seats: int) -> None:
    table = Table(GAME, GAME.complete(seats, pb.Options(deals=1)), 1)
    while not table.over:
        (seat,) = GAME.decision(table.state).seats
        view = GAME.view(table.state, seat)
        question = prompt_for("forces").question(view)
        lines = drawn(FORCES.table(view, NAMES), question).splitlines()
        assert len(lines) <= 14
        assert max(map(len, lines)) <= 80
        assert len(question.plain) <= 80
        table.act(*table.choose(Random(len(table.records))))
    assert "after deal 1: the match has ended" in drawn(FORCES.table(GAME.view(table.state, 0), NAMES))


def test_what_happened_in_words() -> None:
    events = [
        pb.DealStarted(deal=1, starter=1, hand_size=12),
        pb.DeckShuffled(deal=1),
        pb.HandDealt(seat=0, cards=cards("R1")),
        pb.Predicted(seat=1, prediction=3, flex=True),
        pb.TrumpChosen(seat=0, trump=pb.TRUMP_LOW),
        pb.PlanningEnded(),
        pb.TrickStarted(trick=1, leader=1, trump=pb.TRUMP_LOW),
        pb.CardPlayed(seat=1, card=card("G9")),
        pb.CardPlayed(seat=3, card=card("G1")),
        pb.CardPlayed(seat=0, card=card("B1")),
        pb.TrickWon(trick=1, seat=0, card=card("B1")),
        pb.CardPlayed(seat=0, card=card("R1")),
        pb.DealScored(deal=1, tricks_won=[2, 10], points=[4, -3], totals=[4, -13]),
        pb.MatchEnded(scores=[4, -13], winners=[0, 3], ranking=[1, 2], reason=pb.END_REASON_DEALS_PLAYED),
    ]
    assert drawn(*FORCES.tell(events, NAMES, 0)) == picture(
        """
        |Deal 1: 12 cards for everyone; Ada starts
        |Ada says 3 or 4 · you choose LOW
        |Ada G9 · Clara G1 · you B1 → you win trick 1 with B1
        |you R1
        |Deal 1 is over: you 2 won, +4 = 4 · Ada 10 won, -3 = -13
        |The match has ended: all deals are played. you and Clara win!
        """
    )
    assert [line.plain for line in FORCES.tell(events[-4:-3], NAMES, None)] == ["Anna wins trick 1 with B1"]
    assert FORCES.tell([pb.StarterDrawn(seat=1)], NAMES, 0) == []


def test_the_ranking() -> None:
    result = pb.MatchEnded(scores=[-3, 8, 8], winners=[1, 2], ranking=[3, 1, 1], reason=pb.END_REASON_DEALS_PLAYED)
    view = pb.View(viewer=0, players=3, result=result)
    assert drawn(FORCES.ranking(view, ["Anna", "Ada", "Bo"])) == picture(
        """
        |Final ranking
        |   1.  Ada      8   wins
        |   1.  Bo       8   wins
        |   3.  Anna    -3
        """
    )
    aborted = pb.View(players=3, result=pb.MatchEnded(scores=[0, 0, 0], reason=pb.END_REASON_ABORTED))
    assert "nobody wins" in drawn(FORCES.ranking(aborted, NAMES))


def test_every_legal_command_can_be_typed() -> None:
    table, prompt = Table(GAME, GAME.complete(4, pb.Options(deals=1)), 1), ForcesPrompt()
    start = GAME.view(table.state, GAME.decision(table.state).seats[0])
    assert prompt.question(start).plain == "Your tricks (0–12, + adds flex) or trump (red yellow blue green high low)"
    assert prompt.read(start, "3") == pb.Predict(prediction=3, flex=False)
    assert prompt.read(start, "11 +") == pb.Predict(prediction=11, flex=True)
    assert prompt.read(start, "high") == pb.ChooseTrump(trump=pb.TRUMP_HIGH)
    assert prompt.question(trick()).plain == "Your card"
    assert prompt.read(trick(), "G2") == pb.PlayCard(card=card("G2"))


@pytest.mark.parametrize("text", ["", "13", "-1", "٣", "r1", "pink", "9" * 5000])
def test_what_cannot_be_typed_is_answered_with_what_can(text: str) -> None:
    with pytest.raises(ValueError, match=r"type one of 0, 0\+, 1, 1\+, 2, 2\+, 3\."):
        ForcesPrompt().read(planning(), text)


def test_not_following_is_explained() -> None:
    with pytest.raises(ValueError, match=r"must follow the led colour: type one of g2\."):
        ForcesPrompt().read(trick(), "y10")
    with pytest.raises(ValueError, match="not possible now"):
        ForcesPrompt().read(trick(), "y9")


def test_a_whole_match_at_the_terminal(sixledger: CommandLine) -> None:
    """Typing everything again and again gives every answer in time."""
    codes = [f"{color}{number}" for color in "rybg" for number in range(1, 10)]
    typed = "\n".join(["?", "2+", "0", "high", "low", *codes * 12])
    ran = sixledger("play", "forces", "--bots", "2", "--option", "deals=1", "--seed", "1", typed=typed)
    assert (ran.status, ran.err) == (0, "")
    assert "Final ranking" in ran.out
    assert " VALID " in ran.out
    assert "3+           predict three with flex" in ran.out
