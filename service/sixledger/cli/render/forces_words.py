"""The events of 6 Forces in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.text import Text
from sixledger.cli.render.forces_cards import announced, code, style_of, trump_name, trump_style
from sixledger.games.forces.v1 import forces_pb2 as pb

Names = Sequence[str]


def tell(events: Sequence[Any], names: Names, viewer: int | None) -> list[Text]:
    """What happened, for `viewer`, in a few lines: choices share one, and so do the cards of a trick."""
    lines: list[Text] = []
    open_line: type[Any] | None = None  # the kind of events that the last line collects
    for event in events:
        say = _WORDS.get(type(event))
        if say is None:
            continue
        words, kind = say(event, names, viewer), _SHARED.get(type(event))
        if kind is not None and kind is open_line:
            lines[-1].append(" → " if isinstance(event, pb.TrickWon) else " · ").append_text(words)
        else:
            lines.append(words)
        open_line = None if isinstance(event, pb.TrickWon) else kind
    return lines


def _who(seat: int, names: Names, viewer: int | None) -> Text:
    return Text("you", "you") if seat == viewer else Text(names[seat], "heading")


def _does(seat: int, viewer: int | None, verb: str) -> str:
    return f" {verb}" if seat == viewer else f" {verb}s"


def _card(card: pb.Card) -> tuple[str, str]:
    return (code(card), f"bold {style_of(card)}")


def _deal_started(event: pb.DealStarted, names: Names, viewer: int | None) -> Text:
    line = Text(f"Deal {event.deal}: {event.hand_size} cards for everyone; ", "heading")
    return line.append_text(_who(event.starter, names, viewer)).append(_does(event.starter, viewer, "start"))


def _predicted(event: pb.Predicted, names: Names, viewer: int | None) -> Text:
    said = announced(pb.Prediction(prediction=event.prediction, flex=event.flex))
    return _who(event.seat, names, viewer).append(_does(event.seat, viewer, "say"), "").append(f" {said}", "number")


def _trump_chosen(event: pb.TrumpChosen, names: Names, viewer: int | None) -> Text:
    line = _who(event.seat, names, viewer).append(_does(event.seat, viewer, "choose"), "")
    return line.append(f" {trump_name(event.trump)}", trump_style(event.trump))


def _card_played(event: pb.CardPlayed, names: Names, viewer: int | None) -> Text:
    return Text.assemble(_who(event.seat, names, viewer), " ", _card(event.card))


def _trick_won(event: pb.TrickWon, names: Names, viewer: int | None) -> Text:
    line = Text.assemble(_who(event.seat, names, viewer), _does(event.seat, viewer, "win"))
    return line.append(f" trick {event.trick} with ").append(*_card(event.card))


def _scored(event: pb.DealScored, names: Names, viewer: int | None) -> Text:
    line = Text(f"Deal {event.deal} is over: ", "heading")
    for seat, (won, points, total) in enumerate(zip(event.tricks_won, event.points, event.totals, strict=True)):
        line.append(" · " if seat else "").append_text(_who(seat, names, viewer))
        line.append(f" {won} won, ").append(f"{points:+}", "good" if points > 0 else "bad").append(f" = {total}")
    return line


_REASONS = {
    pb.END_REASON_DEALS_PLAYED: "all deals are played",
    pb.END_REASON_RESIGNED: "a player has resigned",
    pb.END_REASON_FORFEIT: "a player has run out of time",
    pb.END_REASON_ABORTED: "the table was aborted",
}


def _ended(event: pb.MatchEnded, names: Names, viewer: int | None) -> Text:
    line = Text(f"The match has ended: {_REASONS.get(event.reason, 'it is over')}.", "heading")
    for index, seat in enumerate(event.winners):
        line.append(" and " if index else " ").append_text(_who(seat, names, viewer))
    if event.winners:
        one = len(event.winners) == 1 and event.winners[0] != viewer
        line.append(" wins!" if one else " win!", "good")
    return line


_WORDS: dict[type[Any], Callable[[Any, Names, int | None], Text]] = {
    pb.DealStarted: _deal_started,
    pb.Predicted: _predicted,
    pb.TrumpChosen: _trump_chosen,
    pb.CardPlayed: _card_played,
    pb.TrickWon: _trick_won,
    pb.DealScored: _scored,
    pb.MatchEnded: _ended,
}

#: Events that share a line with those of the same kind before them.
_SHARED: dict[type[Any], type[Any]] = {
    pb.Predicted: pb.Predicted,
    pb.TrumpChosen: pb.Predicted,
    pb.CardPlayed: pb.CardPlayed,
    pb.TrickWon: pb.CardPlayed,
}
