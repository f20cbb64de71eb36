"""The screens that lie over the replay: keyboard help, the list of records or turns, the jump prompt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from sixledger.cli.replay.course import Course, Entry
from sixledger.cli.replay.scene import Scene
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static

#: Keys and what they do, for the help.
KEYS: tuple[tuple[str, str], ...] = (
    ("→ ←", "next record, record before (also n p)"),
    ("t T", "next turn, turn before"),
    ("r R", "next round, round before"),
    ("Home End", "first record, last record"),
    ("j", "jump: 27 is a record, r2 a round, r2t4 a turn"),
    ("l", "list of records, Tab: of turns"),
    ("s S", "next eyes, eyes before: spectator, seats, all hands"),
    ("0 … 9", "that seat's eyes; o spectator; a all hands"),
    ("Space", "play by itself, stop;  + − faster, slower"),
    ("f", "follow a live match: show each record as it arrives"),
    ("↑ ↓", "scroll, where the table is higher than the screen"),
    ("? q", "this help, quit"),
)


class HelpScreen(ModalScreen[None]):
    """What the keys do. Any key closes it."""

    def compose(self) -> ComposeResult:
        """The table of keys."""
        lines = [Text.assemble((f"{keys:<10}", "bold cyan"), said) for keys, said in KEYS]
        with Vertical(classes="box") as box:
            box.border_title = "Keys"
            yield Static(Text("\n").join(lines))

    def on_key(self) -> None:
        """Close."""
        self.dismiss()


class PickScreen(ModalScreen[int | None]):
    """The records, or the turns, to choose from; the result is the number of a record."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,l,q", "dismiss", "close"),
        Binding("tab", "swap", "records or turns"),
    ]

    def __init__(self, scene: Scene, seq: int) -> None:
        """Begin at record `seq`."""
        super().__init__()
        self._scene = scene
        self._seq = seq
        self._by_turn = False
        self._shown: Sequence[Entry] = ()

    def compose(self) -> ComposeResult:
        """An empty list."""
        with Vertical(classes="box list"):
            yield OptionList()

    def on_mount(self) -> None:
        """Fill it."""
        self._fill()

    def _fill(self) -> None:
        course = self._scene.course
        self._shown = course.turns() if self._by_turn else list(course.entries)
        choices = self.query_one(OptionList)
        choices.clear_options()
        choices.add_options([self._scene.label(entry) for entry in self._shown])
        choices.highlighted = max((n for n, entry in enumerate(self._shown) if entry.seq <= self._seq), default=0)
        box = self.query_one(Vertical)
        box.border_title = "Turns" if self._by_turn else "Records"
        box.border_subtitle = "Enter go · Tab " + ("records" if self._by_turn else "turns") + " · Esc close"
        choices.focus()

    def action_swap(self) -> None:
        """Records instead of turns, or the other way round."""
        self._by_turn = not self._by_turn
        self._fill()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Go there."""
        self.dismiss(self._shown[event.option_index].seq)


class JumpScreen(ModalScreen[int | None]):
    """Where to? The result is the number of a record."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "close")]

    def __init__(self, course: Course, seq: int) -> None:
        """A turn without its round is one of the round of record `seq`."""
        super().__init__()
        self._course = course
        self._seq = seq

    def compose(self) -> ComposeResult:
        """A line to type in."""
        with Vertical(classes="box") as box:
            box.border_title = "Jump to"
            yield Input(placeholder="27 · r2 · r2t4 · t4")
            yield Static("", id="wrong")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go there, or say what is wrong."""
        try:
            self.dismiss(destination(self._course, self._seq, event.value))
        except ValueError as error:
            self.query_one("#wrong", Static).update(Text(str(error), "bold yellow"))


def destination(course: Course, seq: int, text: str) -> int:
    """The record that `text` names: `27`, `r2`, `r2t4`, or `t4` of the round of record `seq`. Raises ValueError."""
    words = text.lower().replace("round", "r").replace("turn", "t")
    found = re.fullmatch(r"(?:r(\d{1,9}))?(?:t(\d{1,9}))?|#?(\d{1,9})", re.sub(r"[\s,.]", "", words))
    if found is None or not any(found.groups()):
        raise ValueError(f"{text!r} is no place: type 27 for a record, r2 for a round, r2t4 for a turn")
    if found[3]:
        if int(found[3]) >= len(course):
            raise ValueError(f"there is no record {found[3]}: the last one is {len(course) - 1}")
        return int(found[3])
    round_ = int(found[1]) if found[1] else course.entries[seq].round
    place = course.find(round_, int(found[2]) if found[2] else None)
    if place is None:
        raise ValueError(f"the course does not reach round {round_}" + (f", turn {found[2]}" if found[2] else ""))
    return place
