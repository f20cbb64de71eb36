"""The table of 6 nimmt! as its view shows it: rows, scores, hand."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text
from sixledger.cli.render import nimmt_words
from sixledger.cli.render.cards import HEAD, beside, style_of
from sixledger.cli.render.nimmt_hands import hand_drawn, hand_plain, public_hands
from sixledger.cli.render.nimmt_rows import lying, pool, rows_drawn, rows_plain
from sixledger.cli.render.nimmt_scores import scores
from sixledger.engine.nimmt.options import variant_of
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

#: Below this many columns cards are drawn as plain numbers.
NARROW = 78

tell = nimmt_words.tell


class Table:
    """A view of 6 nimmt!; wide enough terminals get cards, narrow ones numbers."""

    def __init__(self, view: pb.View, names: Sequence[str], fresh: Collection[int] = ()) -> None:
        """`names` are by seat; cards in `fresh` were placed just now and stand out."""
        self._view = view
        self._names = names
        self._fresh = frozenset(fresh)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The lines of the table."""
        wide = options.max_width >= NARROW
        view, names = self._view, self._names
        yield heading(view)
        yield Text()
        rows = pool(view) if view.pool else rows_drawn(view, self._fresh) if wide else rows_plain(view)
        points = scores(view, names)
        yield from beside(rows, [Text(), *points], gap=2) if wide and rows else [*rows, Text(), *points]
        yield from lying(view, names)
        own = view.seats[view.viewer] if view.HasField("viewer") and view.seats else None
        if view.phase != pb.PHASE_ENDED:
            if own is not None:
                yield Text()
                yield from hand_drawn(view, own) if wide else hand_plain(view, own)
            yield from public_hands(view, names)


def table(view: pb.View, names: Sequence[str], fresh: Collection[int] = ()) -> RenderableType:
    """What the viewer sees, for people."""
    return Table(view, names, fresh)


def heading(view: pb.View) -> Text:
    """Game, variant, round, turn, and what ends the match."""
    line = Text.assemble((" 6 nimmt! ", "title"), "  ")
    variant = view.options.variant
    if variant > pb.VARIANT_BASE:
        line.append(f"{variant_of(view.options).name}  ·  ", "heading")
    word = "game" if variant == pb.VARIANT_TOURNAMENT else "round"
    if view.phase == pb.PHASE_ENDED:
        return line.append(f"after {word} {view.round}: the match has ended", "heading")
    if view.phase == pb.PHASE_DRAFT:
        line.append(f"{word} {view.round}, draft", "heading")
    elif variant == pb.VARIANT_HAND:
        cycle = (view.turn - 1) // max(view.players, 1) + 1
        line.append(f"{word} {view.round}, cycle {cycle}", "heading")
    else:
        line.append(f"{word} {view.round}, turn {view.turn} of {variant_of(view.options).turns}", "heading")
    return line.append(f"  ·  {ending(view)}", "faint")


def ending(view: pb.View) -> str:
    """What ends the match, in words."""
    options = view.options
    if options.variant == pb.VARIANT_TOURNAMENT:
        return f"{view.players} games"
    if options.end_mode == pb.END_MODE_ROUNDS:
        return "a single round" if options.rounds == 1 else f"{options.rounds} rounds"
    if options.variant > pb.VARIANT_BASE:  # the line names the variant as well
        return f"ends {'at' if options.compare == pb.COMPARE_GE else 'above'} {options.limit}"
    verb = "reaches" if options.compare == pb.COMPARE_GE else "is above"
    return f"ends when a total {verb} {options.limit}"


def ranking(view: pb.View, names: Sequence[str]) -> RenderableType:
    """The result, best first."""
    result = view.result
    if not result.ranking:
        return Text("The match was aborted: nobody wins.", "unsure")
    lines = [Text("Final ranking", "heading")]
    width = max(len(name) for name in names)
    for seat in sorted(range(view.players), key=lambda each: (result.ranking[each], each)):
        own = view.HasField("viewer") and view.viewer == seat
        style = "good" if seat in result.winners else "you" if own else ""
        line = Text(f"  {result.ranking[seat]:>2}.  {names[seat]:<{width}}  {result.scores[seat]:>4} {HEAD}", style)
        lines.append(line.append("   wins" if seat in result.winners else ""))
    return Group(*lines)


def hands(views: Sequence[pb.View], names: Sequence[str]) -> list[Text]:
    """Every hand as numbers; a card that was chosen and not yet turned up stands behind its hand."""
    width = max(len(name) for name in names[: len(views)])
    lines = []
    for seat, view in enumerate(views):
        own = view.seats[seat]
        line = Text.assemble((f"  {names[seat]:<{width}}  ", "heading"))
        for each in own.hand:
            line.append(f"{each:>3} ", style_of(each))
        if own.HasField("chosen"):
            line.append(" → ", "faint").append(*_chosen(own.chosen))
        lines.append(line)
    return lines


def _chosen(number: int) -> tuple[str, str]:
    return str(number), f"{style_of(number)}.fresh"
