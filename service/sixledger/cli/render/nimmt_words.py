"""The events of 6 nimmt! in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.text import Text
from sixledger.cli.render.cards import HEAD, style_of
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

Names = Sequence[str]


def tell(events: Sequence[Any], names: Names, viewer: int | None) -> list[Text]:
    """What happened, for `viewer`, in a few lines: plain placements share one, every collection has its own."""
    lines: list[Text] = []
    placed = Text()
    needs_choice = any(isinstance(event, pb.RowChoiceNeeded) for event in events)
    for event in events:
        if isinstance(event, pb.CardPlaced):
            if event.side != pb.SIDE_NEW:
                placed.append(" · " if placed else "").append_text(_placed(event, names, viewer))
            continue
        words = _WORDS.get(type(event))
        if words is None or (isinstance(event, pb.Revealed) and not needs_choice):
            continue
        if placed:
            lines.append(placed)
            placed = Text()
        lines.append(words(event, names, viewer))
    return [*lines, placed] if placed else lines


def _who(seats: Sequence[int], names: Names, viewer: int | None) -> Text:
    text = Text()
    for index, seat in enumerate(seats):
        text.append(" and " if index else "")
        text.append("you" if seat == viewer else names[seat], "you" if seat == viewer else "heading")
    return text


def _verb(seats: Sequence[int], viewer: int | None, one: str, more: str) -> str:
    return more if len(seats) > 1 or seats[0] == viewer else one


def _number(number: int) -> tuple[str, str]:
    return (str(number), f"bold {style_of(number)}")


def _revealed(event: pb.Revealed, names: Names, viewer: int | None) -> Text:
    line = Text("Turned up: ")
    for index, play in enumerate(sorted(event.plays, key=lambda each: each.card)):
        line.append(" · " if index else "")
        line.append_text(_who([play.seat], names, viewer)).append(" ").append(*_number(play.card))
    return line


def _choice_needed(event: pb.RowChoiceNeeded, names: Names, viewer: int | None) -> Text:
    line = Text.assemble(_number(event.card), " fits nowhere: ")
    who = _who([event.seat], names, viewer)
    return line.append_text(who).append(" must choose a row")


def _taken(event: pb.RowTaken, names: Names, viewer: int | None) -> Text:
    own = viewer is not None and viewer in event.seats
    collect = _verb(event.seats, viewer, "collects", "collect")
    line = Text.assemble("» ", _who(event.seats, names, viewer), f" {collect} row {event.row + 1} for ")
    line.append(f"{event.points_each} {HEAD}", "bad" if own else "unsure").append(" (")
    for index, number in enumerate(event.cards):
        line.append(" " if index else "").append(str(number), style_of(number))
    return line.append("), the sixth card" if event.cause == pb.TAKE_CAUSE_FULL else ")")


def _placed(event: pb.CardPlaced, names: Names, viewer: int | None) -> Text:
    return Text.assemble(_who(event.seats, names, viewer), " ", _number(event.card), (f" → row {event.row + 1}", "faint"))


def _round_started(event: pb.RoundStarted, names: Names, viewer: int | None) -> Text:
    return Text(f"Round {event.round}: {event.hand_size} cards for everyone.", "heading")


def _scored(event: pb.RoundScored, names: Names, viewer: int | None) -> Text:
    line = Text(f"Round {event.round} is over: ", "heading")
    for seat, (points, total) in enumerate(zip(event.points, event.totals, strict=True)):
        line.append(" · " if seat else "").append_text(_who([seat], names, viewer)).append(f" +{points} = {total}")
    return line


_REASONS = {
    pb.END_REASON_LIMIT: "a total has passed the limit",
    pb.END_REASON_ROUNDS: "all rounds are played",
    pb.END_REASON_MAX_ROUNDS: "the highest number of rounds is played",
    pb.END_REASON_RESIGNED: "a player has resigned",
    pb.END_REASON_FORFEIT: "a player has run out of time",
    pb.END_REASON_ABORTED: "the table was aborted",
}


def _ended(event: pb.MatchEnded, names: Names, viewer: int | None) -> Text:
    line = Text(f"The match has ended: {_REASONS.get(event.reason, 'it is over')}.", "heading")
    if event.winners:
        line.append(" ").append_text(_who(event.winners, names, viewer))
        line.append(f" {_verb(event.winners, viewer, 'wins', 'win')}!", "good")
    return line


_WORDS: dict[type[Any], Callable[[Any, Names, int | None], Text]] = {
    pb.RoundStarted: _round_started,
    pb.Revealed: _revealed,
    pb.RowChoiceNeeded: _choice_needed,
    pb.RowTaken: _taken,
    pb.RoundScored: _scored,
    pb.MatchEnded: _ended,
}
