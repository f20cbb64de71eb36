"""The events of 6 nimmt! in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.text import Text
from sixledger.cli.render.cards import HEAD, style_of
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

Names = Sequence[str]

#: Told only while a row must still be chosen: afterwards the placements say it all.
_ONLY_UNDECIDED = (pb.Revealed, pb.RowChoiceNeeded)


def tell(events: Sequence[Any], names: Names, viewer: int | None) -> list[Text]:
    """What happened, for `viewer`, in a few lines: plain placements share one, every collection has its own."""
    lines: list[Text] = []
    placed = Text()
    # Who must still choose a row has seen only the choices of this turn, not where the cards went.
    undecided = bool(events) and isinstance(events[-1], pb.RowChoiceNeeded)
    for index, event in enumerate(events):
        if isinstance(event, pb.CardPlaced):
            if event.side != pb.SIDE_NEW:
                placed.append(" · " if placed else "").append_text(_placed(event, names, viewer))
            continue
        if isinstance(event, pb.RowTaken):
            words = _taken(event, events[index + 1], names, viewer)
        elif (say := _WORDS.get(type(event))) and (undecided or not isinstance(event, _ONLY_UNDECIDED)):
            words = say(event, names, viewer)
        else:
            continue
        if placed:
            lines.append(placed)
            placed = Text()
        lines.append(words)
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
    return (str(number), f"{style_of(number)}.number")


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


def _taken(event: pb.RowTaken, placed: pb.CardPlaced, names: Names, viewer: int | None) -> Text:
    """A collection, with the card that caused it: the one placed next."""
    own = viewer is not None and viewer in event.seats
    line = Text.assemble(
        ("» ", "bad" if own else "unsure"), _who(event.seats, names, viewer), " ", _number(placed.card)
    )
    if event.cause == pb.TAKE_CAUSE_FULL:
        line.append(f" is the sixth card of row {event.row + 1}: ")
    else:
        line.append(f" fits nowhere, takes row {event.row + 1}: ")
    line.append(f"{event.points_each} {HEAD}", "bad" if own else "unsure").append(" (")
    for index, number in enumerate(event.cards):
        line.append(" " if index else "").append(str(number), style_of(number))
    return line.append(")")


def _placed(event: pb.CardPlaced, names: Names, viewer: int | None) -> Text:
    return Text.assemble(
        _who(event.seats, names, viewer), " ", _number(event.card), (f" → row {event.row + 1}", "faint")
    )


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
    pb.RoundScored: _scored,
    pb.MatchEnded: _ended,
}
