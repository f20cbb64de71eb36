"""The cards of 6 Forces as integers, and who wins a trick (RULES 1.1, 1.4.2).

A card is `16 * colour + number`, so that integers sort by colour R, Y, B, G and then by number, and a shift
gives the colour.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sixledger.games.forces.v1 import forces_pb2 as pb

#: Cards of a hand, and so tricks of a deal.
HAND_SIZE = 12
#: Chips of the game.
CHIPS = 15
#: The highest number by number of seats.
HIGHEST = {3: 9, 4: 12}

COLORS = (pb.COLOR_RED, pb.COLOR_YELLOW, pb.COLOR_BLUE, pb.COLOR_GREEN)
TRUMPS = (pb.TRUMP_RED, pb.TRUMP_YELLOW, pb.TRUMP_BLUE, pb.TRUMP_GREEN, pb.TRUMP_HIGH, pb.TRUMP_LOW)


def card_of(color: int, number: int) -> int:
    """The card of a colour and a number."""
    return color << 4 | number


def color_of(card: int) -> int:
    """The colour of a card, as the number of its enum value."""
    return card >> 4


def number_of(card: int) -> int:
    """The number of a card, 1 to 12."""
    return card & 15


#: The deck before it is shuffled, by number of seats: ascending (RULES 1.3).
DECKS = {
    seats: tuple(card_of(color, number) for color in COLORS for number in range(1, highest + 1))
    for seats, highest in HIGHEST.items()
}

#: The message of every card, made once: never change one.
MESSAGES = {
    card_of(color, number): pb.Card(color=color, number=number)
    for color in COLORS
    for number in range(1, HIGHEST[4] + 1)
}


def read(card: pb.Card) -> int:
    """The card of a message, which must be one of the game."""
    return card.color << 4 | card.number


def write(cards: Iterable[int]) -> list[pb.Card]:
    """The messages of cards."""
    return [MESSAGES[card] for card in cards]


def playable(hand: Sequence[int], led: int) -> Sequence[int]:
    """The cards of a hand that may follow the card `led` (RULES 1.4.2): those of its colour, else all."""
    color = led >> 4
    return [card for card in hand if card >> 4 == color] or hand


def best(cards: Sequence[int], trump: int) -> int:
    """The place, in order of play, of the card that wins. `trump` is the leader's type."""
    if trump > pb.TRUMP_GREEN:
        numbers = [card & 15 for card in cards]
        wanted = max(numbers) if trump == pb.TRUMP_HIGH else min(numbers)
        # Of equal numbers the one played last wins.
        return len(numbers) - 1 - numbers[::-1].index(wanted)
    # The values of colours and of colour trumps are the same. Cards of one colour compare by number.
    counting = [card for card in cards if card >> 4 == trump] or [card for card in cards if card >> 4 == cards[0] >> 4]
    return cards.index(max(counting))
