"""The table of 6 nimmt! as its view shows it: rows, scores, hand."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text
from sixledger.cli.render import nimmt_words
from sixledger.cli.render.cards import HEAD, Lines, beside, card, fit, label, place, style_of
from sixledger.engine.nimmt.cards import ROW_LENGTH, bullheads
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

#: Below this many columns cards are drawn as plain numbers.
NARROW = 78
_BAR = 8

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
        view = self._view
        yield heading(view)
        yield Text()
        rows = _rows_drawn(view, self._fresh) if wide else _rows_plain(view)
        scores = _scores(view, self._names)
        yield from beside(rows, [Text(), *scores], gap=2) if wide else [*rows, Text(), *scores]
        own = _own(view)
        if own is not None and view.phase != pb.PHASE_ENDED:
            yield Text()
            yield from _hand_drawn(view, own) if wide else _hand_plain(view, own)


def table(view: pb.View, names: Sequence[str], fresh: Collection[int] = ()) -> RenderableType:
    """What the viewer sees, for people."""
    return Table(view, names, fresh)


def heading(view: pb.View) -> Text:
    """Game, round, turn, and what ends the match."""
    line = Text.assemble((" 6 nimmt! ", "title"), "  ")
    if view.phase == pb.PHASE_ENDED:
        return line.append(f"after round {view.round}: the match has ended", "heading")
    line.append(f"round {view.round}, turn {view.turn} of {_turns(view)}", "heading")
    return line.append(f"  ·  {ending(view.options)}", "faint")


def ending(options: pb.Options) -> str:
    """What ends the match, in words."""
    if options.end_mode == pb.END_MODE_ROUNDS:
        return "a single round" if options.rounds == 1 else f"{options.rounds} rounds"
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


# -- parts ---------------------------------------------------------------------------------------


def _turns(view: pb.View) -> int:
    """Turns of the round: those played and those for which cards are left."""
    if not view.seats:
        return 0
    seat = view.seats[0]
    return view.turn - 1 + seat.hand_count + int(seat.has_chosen)


def _own(view: pb.View) -> pb.SeatView | None:
    return view.seats[view.viewer] if view.HasField("viewer") and view.seats else None


def _rows_drawn(view: pb.View, fresh: Collection[int]) -> Lines:
    lines: Lines = []
    for number, row in enumerate(view.rows, 1):
        cards = [card(each, fresh=each in fresh) for each in row.cards]
        free = [place() for _ in range(ROW_LENGTH - len(cards))]
        total = label(
            f"{bullheads(row.cards)} {HEAD}", 5, "heading" if len(cards) == ROW_LENGTH else "faint", right=True
        )
        lines += beside(label(f" {number}", 3, "heading"), *cards, *free, total)
    return lines


def _rows_plain(view: pb.View) -> Lines:
    lines: Lines = []
    for number, row in enumerate(view.rows, 1):
        line = Text.assemble((f" {number}  ", "heading"))
        for each in row.cards:
            line.append(f"{each:>3} ", style_of(each))
        line.append("  · " * (ROW_LENGTH - len(row.cards)), "faint")
        lines.append(line.append(f" {bullheads(row.cards):>2} {HEAD}"))
    return lines


def _scores(view: pb.View, names: Sequence[str]) -> Lines:
    """Seat by seat: name, whether it has chosen, points of this round, total and how near it is to the end."""
    points = view.options.end_mode == pb.END_MODE_POINTS
    lines = [Text(f"  {'':<10} {'round':>5} {'total':>5}", "faint")]
    for seat in view.seats:
        own = view.HasField("viewer") and view.viewer == seat.seat
        choosing_row = view.HasField("row_choice") and view.row_choice.seat == seat.seat
        mark = "▸" if choosing_row else "✓" if view.phase == pb.PHASE_SELECTION and seat.has_chosen else " "
        line = Text.assemble((f"{mark} ", "number"), (fit(names[seat.seat], 10), "you" if own else ""))
        line.append(f" {f'+{seat.round_points}' if seat.round_points else '':>5}", "faint")
        line.append(f" {seat.total:>5}", "heading")
        if points:
            line.append(" ").append_text(_bar(seat.total + seat.round_points, view.options.limit))
        lines.append(line)
    return lines


def _bar(points: int, limit: int) -> Text:
    """How much of the limit is used up."""
    used = min(_BAR, points * _BAR // limit)
    style = "good" if used < _BAR / 2 else "unsure" if used < _BAR - 1 else "bad"
    return Text.assemble(("▰" * used, style), ("▱" * (_BAR - used), "faint"))


def _hand_drawn(view: pb.View, own: pb.SeatView) -> Lines:
    cards = _playable(view)
    drawings = [card(each, playable=each in cards) for each in own.hand]
    title = _hand_title(view, own)
    return [title, *beside([Text("   ")] * 3, *drawings)] if drawings else [title]


def _hand_plain(view: pb.View, own: pb.SeatView) -> Lines:
    cards = _playable(view)
    line = Text("    ")
    for each in own.hand:
        line.append(f"{each} " if each in cards else f"({each}) ", style_of(each) if each in cards else "faint")
    return [_hand_title(view, own), line]


def _hand_title(view: pb.View, own: pb.SeatView) -> Text:
    if view.HasField("row_choice") and view.row_choice.seat == own.seat:
        taken = view.row_choice.card
        return Text.assemble(" your hand  ", (f"your {taken} fits nowhere: choose the row to collect", "unsure"))
    if own.HasField("chosen"):
        return Text.assemble(" your hand  ", (f"you have chosen {own.chosen}", "faint"))
    return Text(" your hand")


def _playable(view: pb.View) -> frozenset[int]:
    return frozenset(each.select_card.card for each in view.legal if each.WhichOneof("command") == "select_card")
