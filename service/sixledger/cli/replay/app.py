"""The full-screen replay."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from rich.text import Text
from sixledger.cli.replay import words
from sixledger.cli.replay.course import ALL_HANDS, Eyes
from sixledger.cli.replay.scene import Scene
from sixledger.cli.replay.screens import HelpScreen, JumpScreen, PickScreen
from sixledger.cli.replay.sources import Live, Replay, Update
from sixledger.cli.terminal import PALETTE, THEME
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.events import Resize
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import get_current_worker

W = TypeVar("W", bound=Widget)

#: From this width on the records are listed beside the table.
WIDE = 112
_PANEL = 36
#: Seconds from record to record when it plays by itself; `+` and `-` choose.
PACES = (4.0, 2.0, 1.0, 0.5, 0.25, 0.1)

_KEY_LINE = (
    ("←→", "record"), ("tT", "turn"), ("rR", "round"), ("Space", "play"), ("s", "seat"), ("j", "jump"), ("l", "list"),
    ("?", "help"), ("q", "quit"),
)  # fmt: skip


class ReplayApp(App[int]):
    """Shows a replay; the result is the exit status."""

    ENABLE_COMMAND_PALETTE = False
    TITLE = "sixledger replay"
    CSS = """
    Screen { layout: vertical; background: $background; }
    #verdict, #caption, #keys { height: 1; width: 100%; }
    #caption { background: $boost; }
    #middle { height: 1fr; }
    #scroll { width: 1fr; scrollbar-size-vertical: 1; }
    #panel { width: 36; height: 100%; border-left: solid $primary-darken-2; display: none; }
    #panel.wide { display: block; }
    ModalScreen { align: center middle; background: $background 60%; }
    .box { width: 72; height: auto; max-height: 90%; border: round $primary; background: $surface; padding: 0 1; }
    .list { width: 44; height: 80%; }
    .list OptionList { height: 1fr; border: none; padding: 0; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,n", "step(1)", "next record"),
        Binding("left,p", "step(-1)", "record before"),
        Binding("t", "turn(1)", "next turn"),
        Binding("T", "turn(-1)", "turn before"),
        Binding("r", "round(1)", "next round"),
        Binding("R", "round(-1)", "round before"),
        Binding("home", "go(0)", "first record"),
        Binding("end", "go(-1)", "last record"),
        Binding("down", "scroll(1)", "down"),
        Binding("up", "scroll(-1)", "up"),
        Binding("space", "play", "play"),
        Binding("plus,equals_sign", "pace(1)", "faster"),
        Binding("minus", "pace(-1)", "slower"),
        Binding("s", "eyes(1)", "next eyes"),
        Binding("S", "eyes(-1)", "eyes before"),
        Binding("o", "look(-1)", "spectator"),
        Binding("a", "look(-2)", "all hands"),
        *(Binding(str(seat), f"look({seat})", f"seat {seat}") for seat in range(10)),
        Binding("f", "follow", "follow"),
        Binding("j", "jump", "jump"),
        Binding("l", "pick", "list"),
        Binding("question_mark,h", "help", "help"),
        Binding("q", "leave", "quit"),
    ]

    def __init__(self, replay: Replay, *, seq: int | None = None) -> None:
        """Begin at record `seq`; by default a file at its first and a live match at its last record."""
        super().__init__()
        self.ansi_theme_dark = PALETTE
        self._replay = replay
        self._scene = Scene(replay.course, replay.names)
        self.following = replay.live is not None
        self._live: Live | None = replay.live
        last = len(replay.course) - 1
        self.seq = (last if self.following else 0) if seq is None else min(max(seq, 0), last)
        self.eyes = replay.eyes
        self._pace = PACES.index(1.0)
        self._timer: Timer | None = None

    # -- drawing -----------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Verdict, record, table with the list beside it, keys."""
        yield Static(id="verdict")
        yield Static(id="caption")
        with Horizontal(id="middle"):
            # It takes no focus: its own Home and End would go before those of the replay.
            with VerticalScroll(id="scroll", can_focus=False):
                yield Static(id="body")
            yield Static(id="panel")
        yield Static(id="keys")

    def on_mount(self) -> None:
        """Begin to follow a live match."""
        if self._live is not None:
            self._follow(self._live)

    def on_unmount(self) -> None:
        """Let go of a live match: that ends the thread that follows it."""
        if self._live is not None:
            self._live.close()

    def on_resize(self, event: Resize) -> None:
        """Draw for the new size."""
        self._draw(event.size.width, event.size.height)

    def redraw(self) -> None:
        """Draw what is shown now."""
        self._draw(self.size.width, self.size.height)

    def _draw(self, width: int, height: int) -> None:
        if not width or not self.screen_stack or not self.screen_stack[0].query("#keys"):
            return  # not there yet
        course, moment = self._replay.course, self._replay.course.at(self.seq)
        wide = width >= WIDE
        self._part("#verdict", Static).update(self._verdict(width))
        self._part("#caption", Static).update(self._scene.caption(moment, self.eyes, width))
        cut = self._replay.judgement.cut if self.seq == len(course) - 1 else ""
        room = width - _PANEL if wide else width
        lines = self._scene.body(moment, self.eyes, room, height - 3, cut)
        if len(lines) > height - 3:  # the scroll bar needs a column
            lines = self._scene.body(moment, self.eyes, room - 1, height - 3, cut)
        self._part("#body", Static).update(Text("\n").join(lines))
        panel = self._part("#panel", Static)
        panel.set_class(wide, "wide")
        if wide:
            panel.update(self._list(height - 3))
        self._part("#keys", Static).update(self._keys())

    def _part(self, name: str, kind: type[W]) -> W:
        """A part of the replay itself, whatever lies over it."""
        return self.screen_stack[0].query_one(name, kind)

    def _verdict(self, width: int) -> Text:
        """The verdict, what is replayed, and what else the checks say."""
        judgement = self._replay.judgement
        line = Text(no_wrap=True, end="")
        line.append(f" {judgement.word} ", THEME.styles[f"verdict.{judgement.style}"])
        line.append(f" {self._replay.title}", "bold")
        line.append(f"  {judgement.text}", THEME.styles["bad" if judgement.cut else "faint"])
        line.truncate(width, overflow="ellipsis")
        return line

    def _list(self, height: int) -> Text:
        """The records around the one that is shown."""
        entries = self._replay.course.entries
        first = max(0, min(self.seq - height // 2, len(entries) - height))
        lines = []
        for entry in entries[first : first + height]:
            line = Text(self._scene.label(entry), no_wrap=True)
            line.truncate(_PANEL - 2, overflow="ellipsis", pad=True)
            if entry.seq == self.seq:
                line.stylize("reverse")
            lines.append(line)
        return Text("\n").join(lines)

    def _keys(self) -> Text:
        line = Text(no_wrap=True, end="")
        for key, said in _KEY_LINE:
            plays = key == "Space" and self._timer is not None
            line.append(f" {key} ", "bold cyan").append("stop" if plays else said)
        if self._live is not None:
            line.append(" f ", "bold cyan").append("following" if self.following else "follow")
        return line

    # -- going ---------------------------------------------------------------------------------------

    def _go(self, seq: int, *, following: bool = False) -> None:
        last = len(self._replay.course) - 1
        self.seq = min(max(seq, 0), last)
        self.following = following and self._live is not None
        self._part("#scroll", VerticalScroll).scroll_home(animate=False)
        self.redraw()

    def action_step(self, steps: int) -> None:
        """So many records on or back."""
        self._go(self.seq + steps)

    def action_turn(self, steps: int) -> None:
        """To the next turn or the one before."""
        self._go(self._replay.course.turn(self.seq, steps))

    def action_round(self, steps: int) -> None:
        """To the next round or the one before."""
        self._go(self._replay.course.round(self.seq, steps))

    def action_go(self, seq: int) -> None:
        """To a record; -1 is the last one, from where a live match is followed."""
        last = len(self._replay.course) - 1
        self._go(last if seq < 0 else seq, following=seq < 0)

    def action_scroll(self, lines: int) -> None:
        """Scroll a table that is higher than the screen."""
        self._part("#scroll", VerticalScroll).scroll_relative(y=lines, animate=False)

    def action_jump(self) -> None:
        """Ask where to."""
        self.push_screen(JumpScreen(self._replay.course, self.seq), self._jumped)

    def action_pick(self) -> None:
        """Show the list."""
        self.push_screen(PickScreen(self._scene, self.seq), self._jumped)

    def _jumped(self, seq: int | None) -> None:
        if seq is not None:
            self._go(seq)

    def action_help(self) -> None:
        """Show the keys."""
        self.push_screen(HelpScreen())

    def action_leave(self) -> None:
        """End, with the status of the verdict."""
        self.exit(self._replay.judgement.status)

    # -- looking -------------------------------------------------------------------------------------

    def action_eyes(self, steps: int) -> None:
        """The next eyes that this ledger has open here."""
        course = self._replay.course
        known = [Eyes(), *(Eyes(seat) for seat in range(course.seats)), ALL_HANDS]
        known = [eyes for eyes in known if course.sees(eyes, self.seq)]
        place = known.index(self.eyes) if self.eyes in known else 0
        self.eyes = known[(place + steps) % len(known)]
        self.redraw()

    def action_look(self, seat: int) -> None:
        """The eyes of a seat; -1: of a spectator, -2: all hands."""
        course = self._replay.course
        eyes = ALL_HANDS if seat == -2 else Eyes(seat if seat >= 0 else None)
        if seat >= course.seats:
            self.notify(f"The seats are 0 to {course.seats - 1}.", severity="warning")
        elif not course.sees(eyes, self.seq):
            self.notify(f"{words.eyes_name(eyes, self._replay.names)}: sealed up to here.", severity="warning")
        else:
            self.eyes = eyes
            self.redraw()

    # -- by itself -----------------------------------------------------------------------------------

    def action_play(self) -> None:
        """Play, or stop."""
        if self._timer is not None:
            self._stop()
        else:
            if self.seq == len(self._replay.course) - 1 and self._live is None:
                self._go(0)
            self._timer = self.set_interval(PACES[self._pace], self._tick)
        self.redraw()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _tick(self) -> None:
        if self.seq < len(self._replay.course) - 1:
            self._go(self.seq + 1)
        else:
            self._stop()
            self._go(self.seq, following=True)

    def action_pace(self, steps: int) -> None:
        """Faster or slower."""
        self._pace = min(max(self._pace + steps, 0), len(PACES) - 1)
        if self._timer is not None:
            self._timer.stop()
            self._timer = self.set_interval(PACES[self._pace], self._tick)
        self.notify(f"{PACES[self._pace]:g} seconds a record", timeout=1.5)

    def action_follow(self) -> None:
        """Follow a live match, or stay where it is."""
        if self._live is None:
            self.notify("This is a ledger file: nothing can follow.", severity="warning")
        elif self.following:
            self._go(self.seq)
        else:
            self._stop()
            self._go(len(self._replay.course) - 1, following=True)

    @work(thread=True, exit_on_error=True)
    def _follow(self, live: Live) -> None:
        """Take news in a thread of its own: waiting for them blocks."""
        worker = get_current_worker()
        for update in live.updates(len(self._replay.course)):
            if worker.is_cancelled or not self.is_running:
                return
            self.call_from_thread(self._take, update)

    def _take(self, update: Update) -> None:
        grown = self._replay.take(update)
        if grown and self.following:
            self.seq = len(self._replay.course) - 1
        self.redraw()
