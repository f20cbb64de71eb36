"""Drawing: pure functions from messages to what the terminal shows.

Every game has at least the generic drawing; a game with a drawing of its own is a module with the same
three functions.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from importlib import import_module
from typing import Any, Protocol, cast

from rich.console import RenderableType
from rich.text import Text
from sixledger.cli.render import hands

_OWN = frozenset({"forces", "nimmt", "piece"})


class Drawing(Protocol):
    """How a game is shown. `names` are by seat."""

    def table(self, view: Any, names: Sequence[str], fresh: Collection[int] = ()) -> RenderableType:
        """What a viewer sees; `fresh` are cards that were placed just now."""
        ...

    def tell(self, events: Sequence[Any], names: Sequence[str], viewer: int | None) -> list[Text]:
        """What happened, in a few lines; events that need no words are left out."""
        ...

    def ranking(self, view: Any, names: Sequence[str]) -> RenderableType:
        """The final result."""
        ...


def hands_of(game_id: str, table: Any, views: Sequence[Any], names: Sequence[str]) -> list[Text]:
    """Everybody's hand, a line each: `table` is the view of a spectator, `views` are those of the seats.

    A game may draw them with a function `hands(views, names)`; of others it is told what each seat sees beyond
    the table.
    """
    own = getattr(drawing(game_id), "hands", None)
    lines: list[Text] = own(views, names) if own is not None else hands.beyond(table, views, names)
    return lines


def drawing(game_id: str) -> Drawing:
    """The drawing of a game."""
    return cast(Drawing, import_module(f"sixledger.cli.render.{game_id if game_id in _OWN else 'generic'}"))


def placed(events: Sequence[Any]) -> list[int]:
    """The cards that were placed by these events, of whatever game: they stand out on its table."""
    cards = [getattr(event, "card", None) for event in events if event.DESCRIPTOR.name == "CardPlaced"]
    return [card for card in cards if isinstance(card, int)]
