"""The events of 6piece in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.text import Text
from sixledger.games.piece.v1 import piece_pb2 as pb

Names = Sequence[str]

STACKS = {pb.STACK_LEFT: "left", pb.STACK_RIGHT: "right"}

#: What the abilities do, in short.
ABILITIES = {
    1: "place it, then look through a deck",
    2: "the opponent’s bottom card goes to the top",
    3: "exchange it for the opponent’s bottom card",
    4: "the opponent shows the top card; a 4 there takes yours",
    5: "place it; the opponent guesses your next card",
    6: "subtract 1 from a die, then place it",
}


class _Story:
    """The lines so far; what happens within a turn is joined on one line."""

    def __init__(self, names: Names, viewer: int | None) -> None:
        self.lines: list[Text] = []
        self._names = names
        self._viewer = viewer
        self._open = False

    def line(self, text: Text | str, *, last: bool = False) -> None:
        """Begin a new line; `last`: nothing is joined to it."""
        self.lines.append(Text.assemble(text))
        self._open = not last

    def join(self, text: Text | str) -> None:
        """Add to the line of this turn, or begin it."""
        if self._open:
            self.lines[-1].append(" · ", "faint").append_text(Text.assemble(text))
        else:
            self.line(text)

    def own(self, seat: int) -> bool:
        """True if the viewer sits there."""
        return seat == self._viewer

    def who(self, seat: int, one: str, more: str) -> Text:
        """A seat and what it does: `one` if it is somebody else, `more` for “you”."""
        own = self.own(seat)
        name = "you" if own else self._names[seat]
        return Text.assemble((name, "you" if own else "heading"), f" {more if own else one}")

    def whose(self, seat: int) -> str:
        """Of a seat: “your” or “Anna’s”."""
        return "your" if self.own(seat) else f"{self._names[seat]}’s"


def tell(events: Sequence[Any], names: Names, viewer: int | None) -> list[Text]:
    """What happened, for `viewer`: a line a turn, and one for whatever moves many cards."""
    story = _Story(names, viewer)
    for event in events:
        if say := _WORDS.get(type(event)):
            say(story, event)
    return story.lines


def _flipped(story: _Story, event: pb.CardFlipped) -> None:
    story.line(story.who(event.seat, "turns up", "turn up").append(f" {event.card}", "number"))


def _used(story: _Story, event: pb.AbilityUsed) -> None:
    story.join(story.who(event.seat, "uses", "use").append(f" ability {event.ability}"))


def _looked(story: _Story, event: pb.DeckLooked) -> None:
    owner = event.seat if event.deck == pb.DECK_OWN else 1 - event.seat
    whose = story.whose(owner) if story.own(event.seat) or owner != event.seat else "the own"
    words = story.who(event.seat, "looks through", "look through").append(f" {whose} deck")
    if event.cards:
        words.append(": ").append(" ".join(map(str, event.cards)), "number")
    story.join(words)


def _to_top(story: _Story, event: pb.BottomToTop) -> None:
    story.join(f"{story.whose(event.deck_of)} bottom card goes to the top")


def _swapped(story: _Story, event: pb.CardsSwapped) -> None:
    story.join(f"{event.given} goes under {story.whose(1 - event.seat)} deck, {event.received} comes up")


def _revealed(story: _Story, event: pb.CardRevealed) -> None:
    story.join(f"{story.whose(event.deck_of)} top card is {event.card}")


def _lost(story: _Story, event: pb.CardLost) -> None:
    lost = story.own(getattr(event, "from"))
    story.join(Text(f"{event.card} is lost under {story.whose(event.to)} deck", "bad" if lost else "unsure"))


def _guessed(story: _Story, event: pb.GuessMade) -> None:
    words = story.who(event.seat, "guesses", "guess").append(f" {guess_name(event.value)}, it is {event.next_card}: ")
    story.join(words.append("right" if event.correct else "wrong", "unsure"))


def _given(story: _Story, event: pb.BottomGiven) -> None:
    story.join(f"{story.whose(getattr(event, 'from'))} bottom card goes under {story.whose(event.to)} deck")


def _placed(story: _Story, event: pb.CardPlaced) -> None:
    where = {pb.WHERE_ROOT: "is the root", pb.WHERE_LEFT: "→ left", pb.WHERE_RIGHT: "→ right"}[event.where]
    story.join(Text.assemble((str(event.card), "number"), f" {where}"))


def _die(story: _Story, event: pb.DieSet) -> None:
    if event.cause == pb.DIE_CAUSE_PLACE:
        story.join(f"die {event.value}")
    elif event.cause == pb.DIE_CAUSE_SUBTRACT:
        story.join(f"the {STACKS[event.stack]} die shows {event.value}")
    elif event.cause == pb.DIE_CAUSE_ROOT and event.stack == pb.STACK_LEFT:
        story.join(f"both dice {event.value}")


def _discarded(story: _Story, event: pb.CardDiscarded) -> None:
    story.join(f"{event.card} leaves the game")


def _taken(story: _Story, event: pb.SixPiece) -> None:
    own = story.own(event.seat)
    words = Text.assemble(("» Six piece! ", "good" if own else "unsure"), story.who(event.seat, "takes", "take"))
    words.append(f" {' and '.join(STACKS[stack] for stack in event.stacks)}")
    words.append(f": {' '.join(map(str, event.cards)) or 'no card is left'}", "number")
    story.line(words)


def _bottom(story: _Story, event: pb.BottomLooked) -> None:
    if event.card:
        story.join(f"your bottom card is {event.card}" if story.own(event.seat) else f"the bottom card is {event.card}")
    else:
        story.join(story.who(event.seat, "looks at the own bottom card", "look at your bottom card"))


def _last_chance(story: _Story, event: pb.LastChance) -> None:
    words = story.who(1 - event.seat, "has no card left: ", "have no card left: ")
    story.line(words.append_text(story.who(event.seat, "has a last turn", "have a last turn")), last=True)


def _time(story: _Story, event: pb.TimeCalled) -> None:
    story.line(Text("Time is up: the match ends with the turn of the second player.", "unsure"), last=True)


_REASONS = {
    pb.END_REASON_EMPTY_DECK: "a deck is empty",
    pb.END_REASON_BOTH_EMPTY: "both decks are empty",
    pb.END_REASON_TIME: "time is up",
    pb.END_REASON_MAX_TURNS: "the highest number of turns is played",
    pb.END_REASON_RESIGNED: "a player has resigned",
    pb.END_REASON_FORFEIT: "a player has run out of time",
    pb.END_REASON_ABORTED: "the table was aborted",
}


def _ended(story: _Story, event: pb.MatchEnded) -> None:
    words = Text(f"The match has ended: {_REASONS.get(event.reason, 'it is over')}.", "heading").append(" ")
    if len(event.winners) == 1:
        words.append_text(story.who(event.winners[0], "wins", "win")).append("!")
    elif event.winners:
        words.append("It is a tie.")
    story.line(words, last=True)


def guess_name(value: pb.GuessValue.ValueType) -> str:
    """A guess as it is typed."""
    return "beast" if value == pb.GUESS_VALUE_BEAST else str(int(value))


_WORDS: dict[type[Any], Callable[[_Story, Any], None]] = {
    pb.CardFlipped: _flipped,
    pb.AbilityUsed: _used,
    pb.DeckLooked: _looked,
    pb.BottomToTop: _to_top,
    pb.CardsSwapped: _swapped,
    pb.CardRevealed: _revealed,
    pb.CardLost: _lost,
    pb.GuessMade: _guessed,
    pb.BottomGiven: _given,
    pb.CardPlaced: _placed,
    pb.DieSet: _die,
    pb.CardDiscarded: _discarded,
    pb.SixPiece: _taken,
    pb.BottomLooked: _bottom,
    pb.LastChance: _last_chance,
    pb.TimeCalled: _time,
    pb.MatchEnded: _ended,
}
