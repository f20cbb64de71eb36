"""A bot for 6 Forces that counts on its good cards and plays for exactly what it has announced."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from google.protobuf.message import Message
from sixledger.engine.forces.cards import HIGHEST, MESSAGES, best, card_of, color_of, number_of, read
from sixledger.games.forces.v1 import forces_pb2 as pb

#: Imagined tricks for each card that might be led. More is stronger and slower.
_SAMPLES = 8


def heuristic(view: pb.View, random: Random) -> Message:
    """The command that promises most, as far as the view tells."""
    own = view.seats[view.viewer]
    hand = [read(card) for card in own.hand]
    trumps = [each.choose_trump.trump for each in view.legal if each.HasField("choose_trump")]
    if trumps:  # first, so that the prediction can count on the own type
        return pb.ChooseTrump(trump=max(trumps, key=lambda trump: (worth(hand, trump, view.players), -trump)))
    predictions = [each.predict for each in view.legal if each.HasField("predict")]
    if predictions:
        return predict(predictions, worth(hand, own.trump, view.players))
    return pb.PlayCard(card=MESSAGES[_card(view, hand, random)])


def worth(hand: Iterable[int], trump: int, players: int) -> float:
    """About how many tricks the hand wins with this own trump type."""
    # The weights are such that the average hand of three seats makes the four tricks that fall to each.
    return sum(_worth(card, trump, HIGHEST[players]) for card in hand) * 3 / players


def _worth(card: int, trump: int, highest: int) -> float:
    """One card: the own type counts only while leading, and the types of others spoil the high cards."""
    height = number_of(card) / highest
    if trump == pb.TRUMP_LOW:
        height = max(height, 1 + 1 / highest - height)
    if trump == color_of(card):
        return 0.2 + 0.6 * height**2
    return 0.65 * height**3


def predict(legal: Sequence[pb.Predict], worth: float) -> pb.Predict:
    """The legal prediction nearest to what the hand is worth: with flex its two numbers lie around it."""
    return min(legal, key=lambda each: (abs(each.prediction + 0.5 * each.flex - worth), each.flex))


def _card(view: pb.View, hand: Sequence[int], random: Random) -> int:
    """The card to play: to win a trick while some are missing, to lose it afterwards."""
    own = view.seats[view.viewer]
    legal = [read(each.play_card.card) for each in view.legal]
    missing = own.prediction.prediction - own.tricks_won
    trump = view.seats[view.leader].trump
    chance = dict.fromkeys(legal, 0)
    unseen, table = _unseen(view, hand), [read(card) for card in view.table]
    others = view.players - 1 - len(table)
    for _ in range(_SAMPLES if others else 1):
        after = random.sample(unseen, others) if len(unseen) >= others else unseen
        for card in legal:
            chance[card] += best([*table, card, *after], trump) == len(table)
    if missing > 0:
        # The likeliest winner, of equal ones the lowest; a trick that is lost takes the worst card.
        return max(legal, key=lambda card: (chance[card], -number_of(card), -card))
    return min(legal, key=lambda card: (chance[card], -number_of(card), card))


def _unseen(view: pb.View, hand: Sequence[int]) -> list[int]:
    """The cards that others hold: those of the deck that the view does not show."""
    seen = set(hand)
    for cards in (view.table, *(trick.cards for trick in view.tricks)):
        seen.update(read(card) for card in cards)
    deck = (card_of(color, number) for color in range(1, 5) for number in range(1, HIGHEST[view.players] + 1))
    return [card for card in deck if card not in seen]
