"""The table of 6 Forces as its view shows it: predictions, trump types, the trick, the hand."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text
from sixledger.cli.render import forces_words
from sixledger.cli.render.cards import Lines, beside, fit
from sixledger.cli.render.forces_cards import (
    CARD_WIDTH,
    announced,
    code,
    drawn,
    place,
    style_of,
    trump_name,
    trump_style,
)
from sixledger.games.forces.v1 import forces_pb2 as pb

#: Below this many columns cards are written, not drawn.
NARROW = 78

tell = forces_words.tell


class Table:
    """A view of 6 Forces; wide enough terminals get cards, narrow ones codes."""

    def __init__(self, view: pb.View, names: Sequence[str]) -> None:
        """`names` are by seat."""
        self._view = view
        self._names = names

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The lines of the table."""
        wide = options.max_width >= NARROW
        view = self._view
        yield heading(view)
        yield Text()
        seats = _seats(view, self._names)
        if view.phase == pb.PHASE_TRICKS:
            yield from beside(seats, _trick_drawn(view, self._names), gap=4) if wide else [*seats, _trick_plain(view)]
        else:
            yield from seats
        if view.HasField("viewer") and view.seats and view.phase != pb.PHASE_ENDED:
            yield Text()
            yield from _hand(view, wide=wide)


def table(view: pb.View, names: Sequence[str], fresh: Collection[int] = ()) -> RenderableType:
    """What the viewer sees, for people. Nothing on this table needs to stand out: a trick shows its own order."""
    return Table(view, names)


def heading(view: pb.View) -> Text:
    """Game, deal, trick and chips."""
    line = Text.assemble((" 6 Forces ", "bold reverse"), "  ")
    if view.phase == pb.PHASE_ENDED:
        return line.append(f"after deal {view.deal}: the match has ended", "heading")
    line.append(f"deal {view.deal} of {view.options.deals}, ", "heading")
    if view.phase == pb.PHASE_PLANNING:
        line.append(f"planning, pass {view.planning_pass} of 2", "heading")
        return line.append(f"  ·  {view.supply} chip{'' if view.supply == 1 else 's'} left", "faint")
    return line.append(f"trick {view.trick} of 12", "heading")


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
        line = Text(f"  {result.ranking[seat]:>2}.  {names[seat]:<{width}}  {result.scores[seat]:>4}", style)
        lines.append(line.append("   wins" if seat in result.winners else ""))
    return Group(*lines)


# -- parts ---------------------------------------------------------------------------------------


def _seats(view: pb.View, names: Sequence[str]) -> Lines:
    """Seat by seat: whether it is on turn, name, trump type, prediction, tricks won and total."""
    lines = [Text(f"  {'':<10} {'trump':<6} {'says':<8} {'won':>3} {'total':>5}", "faint")]
    for seat in view.seats:
        own = view.HasField("viewer") and view.viewer == seat.seat
        line = Text.assemble(("▸ " if seat.seat in view.to_act else "  ", "number"))
        line.append(fit(names[seat.seat], 10), "you" if own else "")
        line.append(f" {trump_name(seat.trump):<6}", trump_style(seat.trump))
        said = announced(seat.prediction) if seat.HasField("prediction") else "·"
        lines.append(line.append(f" {said:<8} {seat.tricks_won:>3}").append(f" {seat.total:>5}", "heading"))
    return lines


def _order(view: pb.View) -> list[int]:
    """The seats in the order in which they play to this trick."""
    return [(view.leader + place) % view.players for place in range(view.players)]


def _trick_title(view: pb.View) -> Text:
    trump = view.seats[view.leader].trump
    return Text.assemble("trick ", (trump_name(trump), trump_style(trump)))


def _trick_drawn(view: pb.View, names: Sequence[str]) -> Lines:
    """The cards of the trick under the names of their seats, the leader first."""
    columns = []
    for number, seat in enumerate(_order(view)):
        card = drawn(view.table[number]) if number < len(view.table) else place()
        columns.append([Text(fit(names[seat], CARD_WIDTH), "faint"), *card])
    return [_trick_title(view), *beside(*columns, gap=2)]


def _trick_plain(view: pb.View) -> Text:
    line = Text("  ").append_text(_trick_title(view)).append(":")
    for card in view.table:
        line.append(f" {code(card)}", style_of(card))
    return line


def _hand(view: pb.View, *, wide: bool) -> Lines:
    """The own hand; a card that cannot be played now is faint."""
    own = view.seats[view.viewer]
    legal = {code(each.play_card.card) for each in view.legal if each.HasField("play_card")}
    # Nothing is played while planning, so nothing is crossed out either: one looks at the hand to plan.
    free = view.phase == pb.PHASE_PLANNING
    may = [free or code(card) in legal for card in own.hand]
    title = Text(" your hand")
    if not own.hand:
        return [title]
    if wide:
        return [
            title,
            *beside([Text("   ")] * 3, *[drawn(card, playable=ok) for card, ok in zip(own.hand, may, strict=True)]),
        ]
    line = Text("   ")
    for card, ok in zip(own.hand, may, strict=True):
        line.append(f" {code(card)}" if ok else f" ({code(card)})", style_of(card) if ok else "faint")
    return [title, line]
