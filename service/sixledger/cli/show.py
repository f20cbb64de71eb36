"""Showing a match of others as it happens: a live picture on a terminal, a line a turn elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence
from random import Random
from typing import Any

from google.protobuf.message import Message
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text
from sixledger.cli.render import Drawing, drawing, placed
from sixledger.client import Recorded, WatchedMatch
from sixledger.engine.bots import Policy

#: Seconds between turns at first, the seconds after which it goes faster, and then.
_PAUSE, _HURRY_AFTER, _HURRIED = 0.45, 18.0, 0.1
#: Lines of the story under the picture.
_LINES = 6


class Pace:
    """Lets people follow: the first seat thinks for a moment, and so does the whole table."""

    def __init__(self, policy: Policy, *, fast: bool) -> None:
        """`fast` leaves the pauses out."""
        self._policy = policy
        self._fast = fast
        self._began = time.monotonic()

    def policy(self, *, first: bool) -> Policy:
        """The policy of a seat; that of the first waits."""
        return self._slow if first and not self._fast else self._policy

    def _slow(self, view: Any, random: Random) -> Message:
        late = time.monotonic() - self._began > _HURRY_AFTER
        time.sleep(_HURRIED if late else _PAUSE)
        return self._policy(view, random)


def show(console: Console, spectator: WatchedMatch, names: Sequence[str]) -> None:
    """Follow a match to its end."""
    if not console.is_terminal:
        for item in spectator.watch():
            if isinstance(item, Recorded):
                _print_turn(console, spectator, item, names)
        return
    story: list[Text] = []
    with Live(console=console, auto_refresh=False, transient=False, vertical_overflow="crop") as live:
        for item in spectator.watch():
            if not isinstance(item, Recorded) or spectator.match.state is None or not item.events:
                continue
            game = drawing(spectator.match.game.id)
            lines = game.tell(item.events, names, None)
            if not lines and not spectator.over:
                continue
            story = [*story, *lines][-_LINES:]
            live.update(picture(game, spectator, item, names, story), refresh=True)


def picture(
    game: Drawing, spectator: WatchedMatch, item: Recorded, names: Sequence[str], story: Sequence[Text]
) -> RenderableType:
    """The table after `item`, and under it the story or, at the end, the result."""
    fresh = placed(item.events)
    view = spectator.view()
    below: list[RenderableType] = [game.ranking(view, names)] if spectator.over else list(story)
    return Group(game.table(view, names, fresh), Text(), *below)


def _print_turn(console: Console, spectator: WatchedMatch, item: Recorded, names: Sequence[str]) -> None:
    """One plain line for what a record says, if it says something."""
    lines = drawing(spectator.match.game.id).tell(item.events, names, None)
    if lines:
        console.print(Text(" | ", "faint").join(lines), soft_wrap=True)
