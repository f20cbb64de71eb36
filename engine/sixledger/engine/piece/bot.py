"""A bot for 6piece that weighs what it takes now against what the opponent could take next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

from google.protobuf.message import Message
from sixledger.engine.piece.cards import SIX, add, all_cards, rolls, subtract
from sixledger.games.piece.v1 import piece_pb2 as pb

#: A stack: its number of cards and its die.
Pile = tuple[int, int]

#: Something worth less than a card, to prefer one of two equal commands.
_LITTLE = 0.01


def heuristic(view: pb.View, random: Random) -> Message:
    """The command that leaves the own deck the largest ahead, as far as the view tells."""
    unseen = _unseen(view)
    if view.phase == pb.PHASE_GUESS:
        return _likeliest(view, unseen)
    table = _Table(view, unseen)
    if view.phase == pb.PHASE_PLACE:
        values = [table.place(view.flipped, at) for at in range(2)]
        return view.legal[values[1] > values[0]].place
    return max(_valued(view, table), key=lambda each: each[0])[1]


def _valued(view: pb.View, table: _Table) -> Iterator[tuple[float, Message]]:
    """The legal commands of the decision with what they are worth, in cards."""
    card = view.flipped
    for command in view.legal:
        if command.HasField("decline"):
            yield table.best(card), command.decline
            continue
        use = command.use_ability
        worth = table.best(card)
        if use.ability == 3:
            worth = table.average_best() + (_LITTLE if card > SIX else 0)
        elif use.ability == 4:  # a card given away helps the opponent twice: it may still be refused
            lost = table.share(4)
            worth = (1 - lost) * worth + lost * (table.threat(table.piles) - 1)
        elif use.ability == 5:
            right = table.likeliest_share()
            worth += (1 - right) * 2 * bool(view.deck_sizes[1 - view.seat]) - right * 2
        elif use.ability == SIX:
            worth = table.best(card, subtract_from=use.die - 1)
        else:  # a look or an exchange of unseen cards changes nothing that a bot without memory could use
            worth -= _LITTLE
        yield worth, use


def _unseen(view: pb.View) -> list[int]:
    """The cards that lie in the decks."""
    cards = Counter(all_cards(view.options))
    cards.subtract([card for card in (view.root, view.flipped) if card])
    for seen in (view.left.cards, view.right.cards, view.discards):
        cards.subtract(seen)
    return sorted(cards.elements())


def _likeliest(view: pb.View, unseen: Sequence[int]) -> Message:
    """The guess that fits most of the unseen cards."""
    counts = Counter(min(card, SIX + 1) for card in unseen)
    return max((command.guess for command in view.legal), key=lambda guess: counts[guess.value])


class _Table:
    """The table of a view: what placing a card is worth to the seat on turn."""

    def __init__(self, view: pb.View, unseen: Sequence[int]) -> None:
        self.piles: list[Pile] = [(len(each.cards), each.die) for each in (view.left, view.right)]
        self._root = view.root
        self._rolls = rolls(view.options)
        self._unseen = unseen

    def share(self, card: int) -> float:
        """The share of a card among the unseen ones."""
        return self._unseen.count(card) / max(len(self._unseen), 1)

    def likeliest_share(self) -> float:
        """The share of the card that is the best to guess."""
        counts = Counter(min(card, SIX + 1) for card in self._unseen)
        return max(counts.values(), default=0) / max(len(self._unseen), 1)

    def best(self, card: int, *, subtract_from: int | None = None) -> float:
        """What the better place for a card is worth."""
        if not self._root:
            return 0.0
        return max(self.place(card, at, subtract_from=subtract_from) for at in range(2))

    def average_best(self) -> float:
        """What the better place for a card is worth that nobody knows yet."""
        return sum(self.best(card) for card in self._unseen) / max(len(self._unseen), 1)

    def place(self, card: int, at: int, *, subtract_from: int | None = None) -> float:
        """Cards gained by placing a card, less what the opponent may gain with the next."""
        piles = list(self.piles)
        if subtract_from is not None:
            size, die = piles[subtract_from]
            piles[subtract_from] = (size, subtract(die))
        size, die = piles[at]
        piles[at] = (size + 1, add(die, self._rolls[card]))
        gain = 0
        for index, (size, die) in enumerate(piles):
            if size and die == SIX:
                gain += size
                piles[index] = (0, self._rolls[self._root])
        return gain + self.threat(piles)

    def threat(self, piles: Sequence[Pile]) -> float:
        """Minus the cards that the opponent takes on average with a card that nobody knows yet."""
        completing = {SIX - die if die != SIX else SIX: 0 for _, die in piles}
        for size, die in piles:
            value = SIX - die if die != SIX else SIX
            completing[value] = max(completing[value], size + 1)
        taken = sum(completing.get(self._rolls[card], 0) for card in self._unseen)
        return -taken / max(len(self._unseen), 1)
