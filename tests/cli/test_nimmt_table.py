"""The variants of 6 nimmt! at the terminal: the table as text of 80 columns, the story, what can be typed.

The expected screens lie in `pictures/`; each begins with the story of the last commands, then come the table and
the question. `UPDATE_PICTURES=1` writes them anew.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from rich.console import Console
from sixledger.cli.nimmt_prompt import NimmtPrompt, spell
from sixledger.cli.prompts import prompt_for
from sixledger.cli.render import drawing
from sixledger.cli.terminal import THEME
from sixledger.engine.nimmt import GAME
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb
from support.matches import Table

NAMES = ["Anna", "Ada", "Maximilian-Friedrich", "Clara", "Bea", "Emil", "Finn"]
PICTURES = Path(__file__).parent / "pictures"
NIMMT = drawing("nimmt")
PROMPT = NimmtPrompt()

Wanted = Callable[[pb.Position], bool]


def _has_twins(position: pb.Position) -> bool:
    return position.turn > 4 and any(len(set(row.cards)) < len(row.cards) for row in position.rows)


#: Name of the picture → variant, seats, which position; the viewer is the seat that may act.
SCREENS: dict[str, tuple[str, int, Wanted]] = {
    "logic-draft": ("logic", 3, lambda p: len(p.pool) == 20),
    "logic-selection": ("logic", 3, lambda p: p.turn == 2),
    "tournament": ("tournament", 2, lambda p: p.round == 2 and p.turn == 3),
    "professional": ("professional", 4, lambda p: p.HasField("end_choice")),
    "open": ("open", 3, lambda p: p.turn == 4 and len(p.queue) == 2),
    "nifty-selection": ("nifty", 3, lambda p: p.turn == 1),
    "nifty-order": ("nifty", 3, lambda p: p.HasField("order_choice") and p.turn == 1),
    "hand": ("hand", 7, lambda p: p.turn == 15 and p.phase == pb.PHASE_ACTING),
    "hand-keep": ("hand", 3, lambda p: p.HasField("keep_choice") and any(seat.public_hand for seat in p.seats)),
    "double": ("double", 4, _has_twins),
}


def match(name: str) -> Table:
    """A random match until the wanted position."""
    variant, seats, wanted = SCREENS[name]
    options = pb.Options(variant=pb.Variant.Value(f"VARIANT_{variant.upper()}"))
    table = Table(GAME, GAME.complete(seats, options), 1)
    for _ in table.play_on(Random(1)):
        if wanted(table.position):
            return table
    raise AssertionError("the match has no such position")


def view_of(name: str) -> pb.View:
    table = match(name)
    return GAME.view(table.state, GAME.decision(table.state).seats[0])


def screen(name: str, width: int = 80) -> str:
    """Story, table and question on a terminal without colour, without the blanks at line ends."""
    table, view = match(name), view_of(name)
    output = io.StringIO()
    console = Console(file=output, width=width, theme=THEME, color_system=None)
    happened = [event for record in table.records[-3:] for _, event in record.events]
    for line in NIMMT.tell(happened, NAMES, view.viewer):
        console.print(line)
    console.print("-" * 10)
    console.print(NIMMT.table(view, NAMES, ()))
    console.print(PROMPT.question(view))
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines()) + "\n"


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_of_80_columns(name: str) -> None:
    path = PICTURES / f"nimmt-{name}.txt"
    found = screen(name)
    if os.environ.get("UPDATE_PICTURES"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8", newline="\n")
    assert found == path.read_text(encoding="utf-8")
    table = found.split("-" * 10 + "\n")[1].splitlines()
    assert len(table) <= 24
    assert max(map(len, table)) <= 80


@pytest.mark.parametrize("name", SCREENS)
def test_a_narrow_screen_has_numbers_instead_of_cards(name: str) -> None:
    text = screen(name, width=60)
    assert "╭" not in text
    for seat in view_of(name).seats:
        assert all(str(card) in text for card in seat.hand)


@pytest.mark.parametrize(
    ("name", "typed", "command"),
    [
        ("logic-draft", "14", pb.DraftCard(card=14)),
        ("professional", "3", pb.ChooseEnd(row=2, side=pb.SIDE_LEFT)),
        ("professional", "4", pb.ChooseEnd(row=3, side=pb.SIDE_RIGHT)),
        ("open", " 12 ", pb.LayCard(card=12)),
        ("nifty-order", "84", pb.PlaceFirst(card=84)),
        ("hand-keep", "0", pb.KeepCards()),
        ("hand-keep", "32", pb.KeepCards(cards=[32])),
        ("double", "024", pb.SelectCard(card=24)),
    ],
)
def test_what_is_typed_becomes_a_command(name: str, typed: str, command: object) -> None:
    assert PROMPT.read(view_of(name), typed) == command


def test_where_order_is_no_matter_pairs_can_be_typed_in_any() -> None:
    view = view_of("nifty-selection")
    hand = view.seats[view.viewer].hand
    assert PROMPT.read(view, f"{hand[5]} {hand[2]}") == pb.SelectPair(cards=[hand[2], hand[5]])


def test_in_hand_the_order_of_the_typed_cards_counts() -> None:
    view = view_of("hand")
    low, high = view.seats[view.viewer].hand[:2]
    assert PROMPT.read(view, f"{high}, {low}") == pb.PlayCards(cards=[high, low])
    assert PROMPT.read(view, str(low)) == pb.PlayCards(cards=[low])


@pytest.mark.parametrize(
    ("name", "typed", "says"),
    [
        ("logic-draft", "1", "type one of 3, 6, 7"),
        ("professional", "1", "none of the two rows: type 3 or 4"),
        ("open", "1", "You do not hold '1'"),
        ("nifty-selection", "5", "type two different cards"),
        ("nifty-selection", "fünf", "type two different cards"),
        ("nifty-order", "1", "type one of 31, 84"),
        ("hand", "1 1", "one or two cards of your hand in order"),
        ("hand-keep", "33", "at most 4 cards of the row, or 0 for none"),
        ("double", "²", "You do not hold"),
    ],
)
def test_what_cannot_be_played_is_answered_with_what_can(name: str, typed: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        PROMPT.read(view_of(name), typed)


def test_every_legal_command_of_a_whole_match_can_be_typed() -> None:
    for variant in range(1, 10):
        table = Table(GAME, GAME.complete(3, pb.Options(variant=pb.Variant.ValueType(variant))), 2)
        for _ in table.play_on(Random(2), 60):
            for seat in GAME.decision(table.state).seats:
                view = GAME.view(table.state, seat)
                assert PROMPT.question(view).plain
                for each in view.legal[:40]:
                    assert PROMPT.read(view, spell(each)) == getattr(each, each.WhichOneof("command") or "")


def test_nimmt_has_its_own_prompt() -> None:
    assert isinstance(prompt_for("nimmt"), NimmtPrompt)
