"""What a view looks like, as text of 80 columns without colour."""

from __future__ import annotations

import io
from textwrap import dedent

import pytest
from rich.console import Console, RenderableType
from sixledger.cli.render import drawing, generic
from sixledger.cli.render.cards import card, fit
from sixledger.cli.terminal import THEME
from sixledger.engine.nimmt.cards import BULLHEADS
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

NAMES = ["Anna", "Ada", "Maximilian-Friedrich"]
NIMMT = drawing("nimmt")


def drawn(*parts: RenderableType, width: int = 80) -> str:
    """The text on a terminal without colour, without the blanks at line ends."""
    console = Console(file=io.StringIO(), width=width, theme=THEME, color_system=None)
    for part in parts:
        console.print(part)
    text = console.file.getvalue()  # type: ignore[attr-defined]  # it is the StringIO above
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def picture(text: str) -> str:
    """The expected text, written with the indentation of the test."""
    return dedent(text).removeprefix("\n").replace("|", "")


def view(viewer: int | None = 0) -> pb.View:
    """The second turn of a match of three: seat 1 has chosen, seat 0 must choose."""
    found = pb.View(
        players=3,
        options=pb.Options(end_mode=pb.END_MODE_POINTS, limit=66, compare=pb.COMPARE_GT),
        phase=pb.PHASE_SELECTION,
        round=2,
        turn=9,
        rows=[pb.Row(cards=cards) for cards in ([12, 15, 33], [55], [60, 61, 62, 63, 64], [104])],
        seats=[
            pb.SeatView(seat=0, hand_count=2, hand=[3, 88], round_points=7, total=12),
            pb.SeatView(seat=1, hand_count=1, has_chosen=True, total=60),
            pb.SeatView(seat=2, hand_count=2, round_points=11, total=0),
        ],
        to_act=[0, 2],
        legal=[pb.Command(select_card=pb.SelectCard(card=3)), pb.Command(select_card=pb.SelectCard(card=88))],
    )
    if viewer is None:
        del found.seats[0].hand[:], found.legal[:]
    else:
        found.viewer = viewer
    return found


def test_table_of_a_player() -> None:
    """Rows with cards, bullheads and sums, free places, scores with how near the limit is, the hand."""
    assert drawn(NIMMT.table(view(), NAMES)) == picture(
        """
        | 6 nimmt!   round 2, turn 9 of 10  ·  ends when a total is above 66

        |   ╭─────╮╭─────╮╭─────╮
        | 1 │ 12  ││ 15  ││ 33  │   ·      ·     8 ▼               round total
        |   ╰──▼──╯╰─▼▼──╯╰▼▼▼▼▼╯                       Anna          +7    12 ▰▰▱▱▱▱▱▱
        |   ╭─────╮                                   ✓ Ada                 60 ▰▰▰▰▰▰▰▱
        | 2 │ 55  │   ·      ·      ·      ·     7 ▼    Maximilia…   +11     0 ▰▱▱▱▱▱▱▱
        |   ▼▼▼▼▼▼▼
        |   ╭─────╮╭─────╮╭─────╮╭─────╮╭─────╮
        | 3 │ 60  ││ 61  ││ 62  ││ 63  ││ 64  │  7 ▼
        |   ╰─▼▼▼─╯╰──▼──╯╰──▼──╯╰──▼──╯╰──▼──╯
        |   ╭─────╮
        | 4 │ 104 │   ·      ·      ·      ·     1 ▼
        |   ╰──▼──╯

        | your hand
        |   ╭─────╮╭─────╮
        |   │  3  ││ 88  │
        |   ╰──▼──╯╰▼▼▼▼▼╯
        """
    )


def test_a_hand_that_cannot_be_played_has_broken_edges() -> None:
    """Between the own choice and the reveal no card is legal; a pending choice of a row is said."""
    waiting = view()
    del waiting.legal[:]
    waiting.seats[0].chosen, waiting.seats[0].has_chosen = 41, True
    assert drawn(NIMMT.table(waiting, NAMES)).splitlines()[-4:] == [
        " your hand  you have chosen 41",
        "   ┌╌╌╌╌╌┐┌╌╌╌╌╌┐",
        "   ┆  3  ┆┆ 88  ┆",
        "   └╌╌▼╌╌┘└▼▼▼▼▼┘",
    ]
    waiting.phase = pb.PHASE_PLACING
    waiting.row_choice.seat, waiting.row_choice.card = 0, 2
    shown = drawn(NIMMT.table(waiting, NAMES))
    assert "your 2 fits nowhere: choose the row to collect" in shown
    assert "▸ Anna" in shown


def test_a_spectator_sees_no_hand() -> None:
    shown = drawn(NIMMT.table(view(None), NAMES))
    assert "hand" not in shown
    assert "88" not in shown


def test_a_narrow_terminal_gets_numbers() -> None:
    """Below 78 columns cards are plain numbers; nothing is cut off."""
    shown = drawn(NIMMT.table(view(), NAMES), width=50)
    assert " 3   60  61  62  63  64   7 ▼" in shown
    assert " 2   55   ·   ·   ·   ·   7 ▼" in shown
    assert "    3 88" in shown
    assert max(map(len, shown.splitlines()[1:])) <= 50


@pytest.mark.parametrize("number", range(1, 105))
@pytest.mark.parametrize("playable", [True, False])
def test_every_card_has_its_bullheads_and_one_size(number: int, playable: bool) -> None:
    lines = [line.plain for line in card(number, playable=playable)]
    assert [len(line) for line in lines] == [7, 7, 7]
    assert lines[2].count("▼") == BULLHEADS[number]
    assert str(number) in lines[1]


def test_ten_seats_fit_beside_the_rows() -> None:
    """The tallest table is no higher than one of four, and no wider than 80 columns."""
    full = view()
    del full.seats[:]
    full.players = 10
    full.seats.extend(pb.SeatView(seat=seat, hand_count=2, total=100, round_points=100) for seat in range(10))
    full.seats[0].hand.extend(range(91, 101))
    lines = drawn(NIMMT.table(full, [f"Player {seat}" for seat in range(10)])).splitlines()
    assert len(lines) == len(drawn(NIMMT.table(view(), NAMES)).splitlines())
    assert max(map(len, lines)) <= 80
    assert sum("Player" in line for line in lines) == 10


def test_what_happened_in_words() -> None:
    """Plain placements share a line, every collection has its own, the viewer is `you`."""
    events = [
        pb.Chosen(seat=0, card=7),
        pb.Revealed(plays=[pb.Play(seat=0, card=70), pb.Play(seat=1, card=8), pb.Play(seat=2, card=71)]),
        pb.RowChoiceNeeded(seat=1, card=8),
        pb.RowTaken(seats=[1], row=1, cards=[55], points_each=7, cause=pb.TAKE_CAUSE_NO_FIT),
        pb.CardPlaced(seats=[1], card=8, row=1, side=pb.SIDE_NEW, length=1),
        pb.RowTaken(seats=[0], row=2, cards=[60, 61, 62, 63, 64], points_each=7, cause=pb.TAKE_CAUSE_FULL),
        pb.CardPlaced(seats=[0], card=70, row=2, side=pb.SIDE_NEW, length=1),
        pb.CardPlaced(seats=[2], card=71, row=2, side=pb.SIDE_RIGHT, length=2),
        pb.RoundScored(round=1, points=[7, 7, 0], totals=[7, 9, 1]),
        pb.MatchEnded(scores=[7, 9, 1], winners=[2], ranking=[2, 3, 1], reason=pb.END_REASON_ROUNDS),
    ]
    assert [line.plain for line in NIMMT.tell(events, ["Anna", "Ada", "Leo"], 0)] == [
        "» Ada 8 fits nowhere, takes row 2: 7 ▼ (55)",
        "» you 70 is the sixth card of row 3: 7 ▼ (60 61 62 63 64)",
        "Leo 71 → row 3",
        "Round 1 is over: you +7 = 7 · Ada +7 = 9 · Leo +0 = 1",
        "The match has ended: all rounds are played. Leo wins!",
    ]
    assert [line.plain for line in NIMMT.tell(events[:3], ["Anna", "Ada", "Leo"], 0)] == [
        "Turned up: Ada 8 · you 70 · Leo 71",
        "8 fits nowhere: Ada must choose a row",
    ]


def test_final_ranking() -> None:
    ended = view()
    ended.phase = pb.PHASE_ENDED
    ended.result.CopyFrom(pb.MatchEnded(scores=[12, 60, 0], winners=[2], ranking=[2, 3, 1], reason=pb.END_REASON_LIMIT))
    assert drawn(NIMMT.ranking(ended, ["Anna", "Ada", "Leo"])) == picture(
        """
        |Final ranking
        |   1.  Leo      0 ▼   wins
        |   2.  Anna    12 ▼
        |   3.  Ada     60 ▼
        """
    )
    ended.result.CopyFrom(pb.MatchEnded(scores=[12, 60, 0], reason=pb.END_REASON_ABORTED))
    assert "nobody wins" in drawn(NIMMT.ranking(ended, NAMES))


def test_any_game_can_be_shown_from_its_messages_alone() -> None:
    """The generic drawing names every field, but for the list of legal commands."""
    shown = drawn(generic.table(view(), NAMES))
    assert "round 2" in shown
    assert "cards [60 61 62 63 64]" in shown
    assert "legal" not in shown
    told = generic.tell([pb.Chosen(seat=0, card=7), pb.TurnEnded(round=1, turn=2)], NAMES, 1)
    assert [line.plain for line in told] == ["Chosen: card 7", "TurnEnded: round 1, turn 2"]
    ended = pb.View(result=pb.MatchEnded(scores=[5, 1, 9], winners=[1], ranking=[2, 1, 3]))
    assert drawn(generic.ranking(ended, ["A", "B", "C"])).splitlines()[1] == "   1.  B  1"


def test_names_of_any_width_fit() -> None:
    """Wide characters count as two columns."""
    assert fit("Ada", 5) == "Ada  "
    assert fit("Maximilian", 5) == "Maxi…"
    assert fit("牛頭王牛頭王", 6) == "牛頭… "
