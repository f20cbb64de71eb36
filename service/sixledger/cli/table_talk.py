"""The conversation at a table: show what happened, ask, until the match is over."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Protocol

from google.protobuf.message import Message
from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text
from sixledger.cli.prompts import Prompt, prompt_for
from sixledger.cli.render import Drawing, drawing, placed
from sixledger.engine.bots import concrete
from sixledger.engine.errors import IllegalCommand, MalformedCommand
from sixledger.engine.game import Game


class Table(Protocol):
    """A person's place at a table, here or on a server."""

    game: Game[Any]
    names: list[str]
    viewer: int

    @property
    def over(self) -> bool:
        """True once the match has ended."""
        ...

    def view(self) -> Any:
        """What the person sees."""
        ...

    def advance(self) -> list[Any]:
        """Wait until the person must decide or the match is over; what happened since last time."""
        ...

    def submit(self, command: Message) -> None:
        """The person's command. Raises IllegalCommand, MalformedCommand or NotNow."""
        ...

    def resign(self) -> None:
        """The person leaves: the match ends."""
        ...

    def seconds_left(self) -> float | None:
        """What the person has left for a decision; None: as long as they like."""
        ...


class NotNow(Exception):
    """A command came too late, or while the match is paused: the table has moved on. The text says so to the person."""


class Talk:
    """Plays one match with the person at the terminal."""

    def __init__(self, table: Table, console: Console) -> None:
        """`console` is where the table is drawn."""
        self._table = table
        self._console = console
        self._drawing: Drawing = drawing(table.game.id)
        self._prompt: Prompt = prompt_for(table.game.id)

    def play(self) -> bool:
        """Play to the end and show the result. False if the person has left."""
        table = self._table
        while True:
            events = table.advance()
            self.tell(events)
            if table.over:
                break
            view = table.view()
            if len(view.legal) == 1:
                # Nothing to decide; the rules still want the command.
                self._submit(concrete(view.legal[0]))
                continue
            self.draw(view, events)
            command = self._ask(view)
            if command is None:
                table.resign()
                self.tell(table.advance())
                self._result()
                return False
            self._submit(command)
        self._result()
        return True

    def _submit(self, command: Message) -> None:
        try:
            self._table.submit(command)
        except NotNow as error:
            self._console.print(Text(str(error), "unsure"))

    def tell(self, events: Sequence[Any]) -> None:
        """Say what happened."""
        lines = self._drawing.tell(events, self._table.names, self._table.viewer)
        if lines:
            self._console.print()
        for line in lines:
            self._console.print(line)

    def draw(self, view: Any, events: Sequence[Any]) -> None:
        """Draw the table; cards placed by `events` stand out."""
        fresh = placed(events)
        self._console.print()
        self._console.print(self._drawing.table(view, self._table.names, fresh))

    def _result(self) -> None:
        self._console.print()
        self._console.print(self._drawing.ranking(self._table.view(), self._table.names))

    def _ask(self, view: Any) -> Message | None:
        """The person's command; None: the person leaves."""
        self._console.print()
        while True:
            text = self._line(self.question(view))
            if text is None or (text in ("q", "quit") and self._sure()):
                return None
            if text in ("?", "h", "help"):
                self._help()
            elif text in ("r", "rules"):
                self._console.print(Markdown(self._table.game.rules_markdown()))
            elif text in ("t", "table"):
                self.draw(view, ())
            elif text not in ("", "q", "quit"):
                try:
                    return self._prompt.read(view, text)
                except ValueError as error:
                    self._console.print(Text(str(error), "unsure"))
                except (IllegalCommand, MalformedCommand) as error:
                    self._console.print(Text(error.message, "unsure"))

    def question(self, view: Any) -> Text:
        """The line that asks for a decision."""
        left = self._table.seconds_left()
        time = (
            f" {left / 60:.0f} min left" if left and left >= 100 else f" {left:.0f} s left" if left is not None else ""
        )
        return Text.assemble(self._prompt.question(view), (time, "unsure"), (" (? help) ", "faint"), "› ")

    def _sure(self) -> bool:
        answer = self._line(Text("Leave the table? You rank last, and the match ends. (yes/no) › "))
        return answer is None or answer in ("y", "yes")

    def _help(self) -> None:
        for line in self._prompt.help:
            self._console.print(Text("  " + line))
        for line in (
            "t            draw the table again",
            "r            the rules",
            "q            leave the table: you resign",
            "A choice is final: nothing is undone.",
        ):
            self._console.print(Text("  " + line))

    def _line(self, question: Text) -> str | None:
        """One line of the person, lower case; None at the end of the input."""
        self._console.print(question, end="")
        self._console.file.flush()
        line = sys.stdin.readline()
        if not sys.stdin.isatty():
            # What was typed is not on the screen if it came from a pipe: the record stays readable.
            self._console.print(Text(line.strip()))
        return line.strip().lower() if line else None
