"""The table of 6piece as its view shows it: root, stacks, dice, decks, the card that lies open."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text
from sixledger.cli.render import piece_words
from sixledger.cli.render.cards import Lines, beside, fit
from sixledger.cli.render.piece_words import ABILITIES
from sixledger.engine.piece.cards import SIX, rolls
from sixledger.games.piece.v1 import piece_pb2 as pb

#: Below this many columns cards are written, not drawn.
NARROW = 64
#: Columns before the cards.
_LABEL = 17
#: One card of a deck.
_BACK = "▮"

tell = piece_words.tell


class Table:
    """A view of 6piece; wide enough terminals get cards, narrow ones numbers."""

    def __init__(self, view: pb.View, names: Sequence[str], fresh: Collection[int] = ()) -> None:
        """`names` are by seat; a card in `fresh` was placed just now and stands out."""
        self._view = view
        self._names = names
        self._fresh = frozenset(fresh)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The lines of the table."""
        wide = options.max_width >= NARROW
        view = self._view
        yield heading(view, self._names)
        yield Text()
        for name, stack in (("left", view.left), ("right", view.right)):
            yield from _line(_stack_label(name, stack), stack.cards, view, self._fresh, wide=wide)
            if name == "left":
                root = [view.root] if view.HasField("root") else []
                value = f"= {rolls(view.options)[view.root]}" if root else "none yet"
                yield from _line(Text.assemble("  root   ", (value, "faint")), root, view, (), wide=wide)
        yield Text()
        yield from _decks(view, self._names, wide=wide)
        if view.discards:
            yield Text(f"  out of the game: {' '.join(map(str, view.discards))}", "faint")
        if view.HasField("flipped") and view.phase != pb.PHASE_ENDED:
            yield Text()
            yield from _open_card(view, self._names, wide=wide)


def table(view: pb.View, names: Sequence[str], fresh: Collection[int] = ()) -> RenderableType:
    """What the viewer sees, for people."""
    return Table(view, names, fresh)


def heading(view: pb.View, names: Sequence[str]) -> Text:
    """Game, turn, whose turn it is, and what ends the match."""
    line = Text.assemble((" 6piece ", "bold reverse"), "  ")
    if view.phase == pb.PHASE_ENDED:
        return line.append(f"after turn {view.turn}: the match has ended", "heading")
    if not view.turn:
        return line.append("the match has not begun", "heading")
    line.append(f"turn {view.turn}: {_name(view, names, view.seat)}", "heading")
    return line.append(f"  ·  {ending(view)}", "faint")


def ending(view: pb.View) -> str:
    """What ends the match beside an empty deck, in words."""
    options = view.options
    if view.player_one_failed:
        return "the last turn"
    if view.time_up:
        return "time is up"
    if options.time_mode == pb.TIME_MODE_TURNS:
        return f"ends after turn {options.turn_limit}"
    if options.time_mode == pb.TIME_MODE_CLOCK:
        return "ends when time is up"
    return f"ends after turn {options.max_turns} at the latest"


def ranking(view: pb.View, names: Sequence[str]) -> RenderableType:
    """The result, best first."""
    result = view.result
    if not result.ranking:
        return Text("The match was aborted: nobody wins.", "unsure")
    lines = [Text("Final ranking", "heading")]
    width = max(len(name) for name in names)
    for seat in sorted(range(view.players), key=lambda each: (result.ranking[each], each)):
        won = seat in result.winners
        style = "good" if won else "you" if view.HasField("viewer") and view.viewer == seat else ""
        line = Text(f"  {result.ranking[seat]:>2}.  {names[seat]:<{width}}  {_count(result.scores[seat])}", style)
        lines.append(line.append(("   a tie" if len(result.winners) > 1 else "   wins") if won else ""))
    return Group(*lines)


# -- parts ---------------------------------------------------------------------------------------


def _name(view: pb.View, names: Sequence[str], seat: int) -> str:
    return "your turn" if view.HasField("viewer") and view.viewer == seat else f"{names[seat]}’s turn"


def _count(cards: int) -> str:
    return f"{cards} card" if cards == 1 else f"{cards} cards"


def _stack_label(name: str, stack: pb.StackState) -> Text:
    """The name of a stack and its die."""
    label = Text(f"  {name:<7}")
    if not stack.HasField("die"):
        return label.append("no die", "faint")
    return label.append("die ", "faint").append(f"[{stack.die}]", "unsure" if stack.die == SIX else "number")


def _line(label: Text, cards: Sequence[int], view: pb.View, fresh: Collection[int], *, wide: bool) -> Lines:
    """A label and cards beside it; of a card in `fresh` the last one stands out."""
    if not cards:
        return [Text.assemble(label, " " * max(_LABEL - label.cell_len, 1), ("·", "faint"))]
    newest = len(cards) - 1 if cards[-1] in fresh else -1
    if not wide:
        line = Text.assemble(label, " " * max(_LABEL - label.cell_len, 1))
        for at, card in enumerate(cards):
            line.append(f"{card} ", _style(card) + (" reverse" if at == newest else ""))
        return [line]
    label.append(" " * max(_LABEL - label.cell_len, 1))
    return beside([Text(), label], _fan(cards, newest))


def _fan(cards: Sequence[int], newest: int = -1) -> Lines:
    """Cards that overlap, the last on top. A Beast has a double edge."""
    lines = [Text(), Text(), Text()]
    for at, card in enumerate(cards):
        top, side, bottom = ("╔══", "║", "╚══") if card > SIX else ("╭──", "│", "╰──")
        close = ("═╗", "║", "═╝") if card > SIX else ("─╮", "│", "─╯")
        style, is_last = _style(card), at == len(cards) - 1
        face = f"{card:^3}" if is_last else f"{card:<2}"
        lines[0].append(top + (close[0] if is_last else ""), style)
        lines[1].append(side, style).append(face, f"bold {style}" + (" reverse" if at == newest else ""))
        lines[1].append(close[1] if is_last else "", style)
        lines[2].append(bottom + (close[2] if is_last else ""), style)
    return lines


def _style(card: int) -> str:
    return "card.7" if card > SIX else "card.1"


def _decks(view: pb.View, names: Sequence[str], *, wide: bool) -> Lines:
    """The size of each deck; a mark for the seat that must act."""
    lines = []
    for seat, size in enumerate(view.deck_sizes):
        own = view.HasField("viewer") and view.viewer == seat
        line = Text.assemble(
            ("▸ " if seat in view.to_act else "  ", "number"), (fit(names[seat], 14), "you" if own else "")
        )
        line.append(f" {_BACK * size:<14} ", "good" if size > 2 else "bad")
        line.append(f"{_count(size)}", "heading")
        role = "  player one" if seat == view.first_player else "  player two"
        lines.append(line.append(role if wide else "", "faint"))
    return lines


def _open_card(view: pb.View, names: Sequence[str], *, wide: bool) -> Lines:
    """The card that lies open and what it can do."""
    card = view.flipped
    words = [Text(_about(view))]
    if card > SIX:
        words.insert(0, Text(f"a Beast that counts {rolls(view.options)[card]}", "faint"))
    label = Text.assemble("  open card", " " * (_LABEL - 11))
    if not wide:
        return [Text.assemble(label, (str(card), _style(card))), *(Text.assemble("  ", each) for each in words)]
    text = [Text(), *words] if len(words) == 1 else words
    return beside([Text(), label], _fan([card]), [Text(f"  {each.plain}", each.style) for each in text])


def _about(view: pb.View) -> str:
    if view.phase == pb.PHASE_PLACE:
        used = f"after ability {view.ability}" if view.HasField("ability") else "no ability used"
        return f"{used}: to be placed left or right"
    return "any ability of 1 to 6" if view.flipped > SIX else ABILITIES[view.flipped]
