"""The events of 6 nimmt! in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.text import Text
from sixledger.cli.render.cards import HEAD, style_of
from sixledger.engine.nimmt.cards import bullheads
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

Names = Sequence[str]

#: Told only while somebody must still choose: afterwards the placements say it all.
_ONLY_UNDECIDED = (pb.Revealed, pb.RowChoiceNeeded, pb.EndChoiceNeeded)
#: Short facts that share a line with their like.
_SHORT = (pb.CardPlaced, pb.CardDrafted, pb.CardLaid)


def tell(events: Sequence[Any], names: Names, viewer: int | None) -> list[Text]:
    """What happened, for `viewer`, in a few lines: plain placements share one, every collection has its own."""
    lines: list[Text] = []
    short = Text()
    kind: type[Any] = object
    # Who must still choose has seen only the choices of this turn, not where the cards went.
    undecided = bool(events) and isinstance(events[-1], _ONLY_UNDECIDED)
    for index, event in enumerate(events):
        if isinstance(event, pb.CardPlaced) and event.side == pb.SIDE_NEW:
            continue  # the collection has said it
        if isinstance(event, _SHORT):
            if short and kind is not type(event):
                lines.append(short)
                short = Text()
            kind = type(event)
            short.append(" · " if short else "").append_text(_in_short(event, names, viewer))
            continue
        if isinstance(event, pb.RowTaken):
            words = _taken(event, events[index + 1 :], names, viewer)
        elif (say := _WORDS.get(type(event))) and (undecided or not isinstance(event, _ONLY_UNDECIDED)):
            words = say(event, names, viewer)
        else:
            continue
        if short:
            lines.append(short)
            short = Text()
        lines.append(words)
    return [*lines, short] if short else lines


def _who(seats: Sequence[int], names: Names, viewer: int | None) -> Text:
    text = Text()
    for index, seat in enumerate(seats):
        text.append(" and " if index else "")
        text.append("you" if seat == viewer else names[seat], "you" if seat == viewer else "heading")
    return text


def _before_number(who: Text) -> Text:
    """Who, and what stands between that and a card: `Ada 14`, but `Seat 3: 14`."""
    return who.append(": " if who.plain[-1:].isdigit() else " ")


def _verb(seats: Sequence[int], viewer: int | None, one: str, more: str) -> str:
    return more if len(seats) > 1 or seats[0] == viewer else one


def _number(number: int) -> tuple[str, str]:
    return (str(number), f"{style_of(number)}.number")


def _numbers(numbers: Sequence[int]) -> Text:
    text = Text()
    for index, number in enumerate(numbers):
        text.append(" " if index else "").append(*_number(number))
    return text


def _revealed(event: pb.Revealed, names: Names, viewer: int | None) -> Text:
    line = Text("Turned up: ")
    plays = [(list(play.cards) or [play.card], play.seat) for play in event.plays]
    for index, (cards, seat) in enumerate(sorted(plays)):
        line.append(" · " if index else "")
        line.append_text(_before_number(_who([seat], names, viewer))).append_text(_numbers(cards))
    return line


def _choice_needed(event: pb.RowChoiceNeeded, names: Names, viewer: int | None) -> Text:
    line = Text.assemble(_number(event.card), " fits nowhere: ")
    who = _who([event.seat], names, viewer)
    return line.append_text(who).append(" must choose a row")


def _end_choice_needed(event: pb.EndChoiceNeeded, names: Names, viewer: int | None) -> Text:
    line = Text.assemble(_number(event.card), " is equally near to two ends: ")
    return line.append_text(_who([event.seat], names, viewer)).append(" must choose one")


def _taken(event: pb.RowTaken, later: Sequence[Any], names: Names, viewer: int | None) -> Text:
    """A collection, with the card that caused it: the one placed next, unless the row is divided first."""
    own = viewer is not None and viewer in event.seats
    placed = later[0] if later and isinstance(later[0], pb.CardPlaced) else None
    who = _who(event.seats, names, viewer)
    who = who.append(" ") if placed is None else _before_number(who)
    line = Text.assemble(("» ", "bad" if own else "unsure"), who)
    if placed is None:
        line.append(_verb(event.seats, viewer, "collects", "collect"))
        line.append(f" row {event.row + 1}{' as it is full' if event.cause == pb.TAKE_CAUSE_FULL else ''}: ")
    elif event.cause == pb.TAKE_CAUSE_FULL:
        line.append(*_number(placed.card)).append(f" is the sixth card of row {event.row + 1}: ")
    else:
        line.append(*_number(placed.card)).append(f" fits nowhere, takes row {event.row + 1}: ")
    each = " each" if len(event.seats) > 1 else ""
    line.append(f"{event.points_each} {HEAD}{each}", "bad" if own else "unsure").append(" (")
    for index, number in enumerate(event.cards):
        line.append(" " if index else "").append(str(number), style_of(number))
    return line.append(")")


def _in_short(event: Any, names: Names, viewer: int | None) -> Text:
    """A card that was placed, laid or drafted."""
    if isinstance(event, pb.CardPlaced):
        where = f" → row {event.row + 1}{_WHERE.get(event.side, '')}"
        return Text.assemble(_before_number(_who(event.seats, names, viewer)), _number(event.card), (where, "faint"))
    verb = ("takes", "take") if isinstance(event, pb.CardDrafted) else ("lays", "lay")
    return Text.assemble(
        *(_who([event.seat], names, viewer), f" {_verb([event.seat], viewer, *verb)} ", _number(event.card))
    )


_WHERE = {pb.SIDE_LEFT: ", left", pb.SIDE_ON_TWIN: ", on its twin"}


def _played(event: pb.CardsPlayed, names: Names, viewer: int | None) -> Text:
    line = _who([event.seat], names, viewer).append(f" {_verb([event.seat], viewer, 'plays', 'play')} ")
    return line.append_text(_numbers(event.cards))


def _order(event: pb.OrderChosen, names: Names, viewer: int | None) -> Text:
    line = _who([event.seat], names, viewer).append(f" {_verb([event.seat], viewer, 'places', 'place')} ")
    return line.append(*_number(event.first)).append(" first")


def _split(event: pb.RowSplit, names: Names, viewer: int | None) -> Text:
    line = _who([event.seat], names, viewer).append(f" {_verb([event.seat], viewer, 'keeps', 'keep')} ")
    line.append_text(_numbers(event.kept) if event.kept else Text("nothing"))
    return line.append(f", {bullheads(event.piled)} {HEAD} to the pile")


def _starter(event: pb.StarterDrawn, names: Names, viewer: int | None) -> Text:
    return _who([event.seat], names, viewer).append(f" {_verb([event.seat], viewer, 'begins', 'begin')}.")


def _draft(event: pb.DraftStarted, names: Names, viewer: int | None) -> Text:
    line = Text(f"The draft: {len(event.cards)} cards lie open, ", "heading")
    line.append_text(_who([event.starter], names, viewer))
    return line.append(f" {_verb([event.starter], viewer, 'takes', 'take')} the first.")


def _round_started(event: pb.RoundStarted, names: Names, viewer: int | None) -> Text:
    return Text(f"Round {event.round}: {event.hand_size} cards for everyone.", "heading")


def _scored(event: pb.RoundScored, names: Names, viewer: int | None) -> Text:
    line = Text(f"Round {event.round} is over: ", "heading")
    if event.max_cycles_reached:
        line = Text(f"Round {event.round} is over after the last cycle: ", "heading")
    for seat, (points, total) in enumerate(zip(event.points, event.totals, strict=True)):
        line.append(" · " if seat else "").append_text(_who([seat], names, viewer)).append(f" +{points} = {total}")
    return line


_REASONS = {
    pb.END_REASON_LIMIT: "a total has passed the limit",
    pb.END_REASON_ROUNDS: "all rounds are played",
    pb.END_REASON_TOURNAMENT: "every hand is played by everyone",
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
    pb.EndChoiceNeeded: _end_choice_needed,
    pb.StarterDrawn: _starter,
    pb.DraftStarted: _draft,
    pb.CardsPlayed: _played,
    pb.OrderChosen: _order,
    pb.RowSplit: _split,
    pb.RoundScored: _scored,
    pb.MatchEnded: _ended,
}
