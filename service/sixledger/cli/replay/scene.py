"""A moment as lines of text that fit a terminal of a given size."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.segment import Segment
from rich.text import Text
from sixledger.cli.render import drawing, hands_of
from sixledger.cli.replay import words
from sixledger.cli.replay.course import Course, Entry, Eyes, Moment
from sixledger.cli.terminal import THEME
from sixledger.ledger.fairness import fairness

#: Below this width games draw narrow tables.
_NARROW = 77


def drawn(renderable: RenderableType, width: int) -> list[Text]:
    """What rich draws, as lines whose styles need no theme any more."""
    console = Console(
        file=io.StringIO(), width=width, theme=THEME, highlight=False, emoji=False, color_system="standard",
        force_terminal=True, legacy_windows=False,
    )  # fmt: skip
    return [_line(row) for row in console.render_lines(renderable, pad=False)]


def _line(row: list[Segment]) -> Text:
    line = Text(no_wrap=True, end="")
    for segment in row:
        line.append(segment.text, segment.style)
    line.rstrip()
    return line


class Scene:
    """Draws the moments of one course."""

    def __init__(self, course: Course, names: Sequence[str]) -> None:
        """`names` are by seat, and may change."""
        self.course = course
        self.names = names
        self._drawing = drawing(course.game.id)

    # -- the table -----------------------------------------------------------------------------------

    def body(self, moment: Moment, eyes: Eyes, width: int, height: int, cut: str = "") -> list[Text]:
        """What happened and the table, the largest drawing that fits; `cut` says why the course ends here."""
        below = drawn(Text(f"✗ {cut}", "bad"), width) if cut else []
        if not self.course.sees(eyes, moment.entry.seq):
            note = f"{words.eyes_name(eyes, self.names)}: sealed up to here; this is what a spectator sees"
            below, eyes = [*below, *drawn(Text(note, "unsure"), width)], Eyes()
        story = drawn(Group(*words.story(self._drawing, moment, self.names, eyes)), width)
        best: list[Text] | None = None
        for table_width, blanks in ((width, True), (width, False), (_NARROW, False)):
            if table_width > width:
                continue
            table = self._table(moment, eyes, table_width)
            lines = [*table, Text(), *story, *below] if blanks else [*_dense(table), *story, *below]
            if len(lines) <= height:
                return lines
            best = lines if best is None or len(lines) < len(best) else best
        return best or []

    def _table(self, moment: Moment, eyes: Eyes, width: int) -> list[Text]:
        view = self.course.view(moment, eyes)
        if view is None:
            return drawn(self._lobby(moment), width)
        lines = drawn(self._drawn(moment, view), width)
        if eyes.everything and not moment.match.over:
            hands = hands_of(moment.match.game.id, view, self.course.hands(moment), self.names)
            lines += [Text(), *drawn(Group(*hands), width)]
        if moment.match.over:
            lines += [Text(), *drawn(self._drawing.ranking(view, self.names), width)]
        return lines

    def _drawn(self, moment: Moment, view: Any) -> RenderableType:
        return self._drawing.table(view, self.names, words.fresh_cards(moment.facts.events))

    def _lobby(self, moment: Moment) -> RenderableType:
        """The seats before the game begins."""
        match = moment.match
        lines = [Text.assemble((f" {match.game.title} ", "title"), "  ", ("before the start", "heading")), Text()]
        for number, seat in enumerate(match.seats):
            facts = ["signs" if seat.public_key else "does not sign"]
            facts += ["contributes"] if seat.contributes else []
            facts += ["has revealed"] if seat.contribution else ["has committed"] if seat.commitment else []
            said = ", ".join(facts) if seat.joined else "free"
            lines.append(Text.assemble((f"  {number}  ", "faint"), (self.names[number], "heading"), f"  {said}"))
        return Group(*lines, Text(), Text(f"Deal: {fairness(match)}.", "faint"))

    # -- the record ------------------------------------------------------------------------------------

    def caption(self, moment: Moment, eyes: Eyes, width: int) -> Text:
        """The record in one line: number, place, who, when, signature, hash, eyes; shortened from the right."""
        entry = moment.entry
        signed, style = words.signature(moment)
        line = Text(no_wrap=True, end="", overflow="ellipsis")
        line.append(f" {entry.seq}", "bold").append(f"/{len(self.course) - 1}  ", "bright_black")
        line.append(words.where(entry)).append("  ")
        line.append(words.actor(entry, self.names), "bold").append("  ")
        line.append(words.clock(entry.time_us), "bright_black")
        if signed:
            line.append("  ").append(signed, THEME.styles[style])
        line.append(f"  #{moment.record.hash.hex()[:8]}", "bright_black")
        # Who looks stands at the right edge.
        seen = f"{words.eyes_name(eyes, self.names)} "
        room = width - len(seen)
        line.truncate(room - 1, overflow="ellipsis")
        return line.append(" " * (room - line.cell_len)).append(seen, "cyan")

    def label(self, entry: Entry) -> str:
        """The record in a list: number, place, who."""
        place = f"r{entry.round} t{entry.turn}" if entry.round else "start"
        return f"{entry.seq:>5}  {place:<8} {words.actor(entry, self.names)}"

    def ledger_line(self, moment: Moment, eyes: Eyes) -> list[Text]:
        """The record for plain output: its facts on one line, its story below, and the turn that begins with it."""
        entry = moment.entry
        signed, _ = words.signature(moment)
        facts = [f"#{entry.seq}", words.clock(entry.time_us), words.actor(entry, self.names)]
        facts += [signed] if signed else []
        lines = [Text("  ".join([*facts, moment.record.hash.hex()[:16]]), "faint")]
        lines += [Text("    ").append_text(line) for line in words.story(self._drawing, moment, self.names, eyes)]
        if not moment.match.over and self.course.begins(entry.seq):
            lines.append(Text(f"── {words.where(entry)}", "heading"))
        return lines

    def result(self, moment: Moment) -> RenderableType | None:
        """The final ranking; None while there is none."""
        if not moment.match.over or moment.match.state is None:
            return None
        return self._drawing.ranking(self.course.view(moment, Eyes()), self.names)


def _dense(lines: Sequence[Text]) -> list[Text]:
    """The lines without the empty ones."""
    return [line for line in lines if line.plain.strip()]
