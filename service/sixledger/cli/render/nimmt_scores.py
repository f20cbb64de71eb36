"""The seats of a table of 6 nimmt!: who must act, and the points."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from sixledger.cli.render.cards import Lines, fit
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

_BAR = 8


def scores(view: pb.View, names: Sequence[str]) -> Lines:
    """Seat by seat: name, whether it has chosen, points of this round, total and how near it is to the end."""
    points = view.options.end_mode == pb.END_MODE_POINTS
    cards = view.options.variant == pb.VARIANT_HAND  # hands and piles of different sizes, which end the round
    word = "game" if view.options.variant == pb.VARIANT_TOURNAMENT else "round"
    head = Text(f"  {'':<10} {word:>5} {'total':>5}", "faint")
    lines = [head.append(" hand pile") if cards else head]
    for seat in view.seats:
        own = view.HasField("viewer") and view.viewer == seat.seat
        line = Text.assemble((f"{_mark(view, seat)} ", "number"), (fit(names[seat.seat], 10), "you" if own else ""))
        line.append(f" {f'+{seat.round_points}' if seat.round_points else '':>5}", "faint")
        line.append(f" {seat.total:>5}", "heading")
        if cards:
            line.append(f" {seat.hand_count:>4} {len(seat.pile):>4}", "faint")
        elif points:
            line.append(" ").append_text(_bar(seat.total + seat.round_points, view.options.limit))
        lines.append(line)
    return lines


def _mark(view: pb.View, seat: pb.SeatView) -> str:
    """Whether the seat is on turn, or has chosen in secret."""
    if view.phase == pb.PHASE_SELECTION:
        return "✓" if seat.has_chosen else " "
    return "▸" if seat.seat in view.to_act else " "


def _bar(points: int, limit: int) -> Text:
    """How much of the limit is used up."""
    used = min(_BAR, points * _BAR // limit)
    style = "good" if used < _BAR / 2 else "unsure" if used < _BAR - 1 else "bad"
    return Text.assemble(("▰" * used, style), ("▱" * (_BAR - used), "faint"))
