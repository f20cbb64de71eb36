"""The table of 6piece: root, stacks, dice, decks, the card that lies open."""

from __future__ import annotations

from collections.abc import Sequence

from sixledger.cli.dispute.boards import Board, Card, Pile
from sixledger.cli.render.piece import heading
from sixledger.engine.piece.cards import SIX, rolls
from sixledger.games.piece.v1 import piece_pb2 as pb


def board(view: pb.View, names: Sequence[str]) -> Board:
    """The table as the viewer sees it."""
    root = [view.root] if view.HasField("root") else []
    value = f"counts {rolls(view.options)[view.root]}" if root else "none yet"
    piles = [
        _stack("Left stack", view.left),
        Pile("Root", tuple(map(_card, root)), value, 0 if root else 1),
        _stack("Right stack", view.right),
    ]
    if view.HasField("flipped") and view.phase != pb.PHASE_ENDED:
        piles.append(Pile("Open card", (_card(view.flipped),)))
    if view.discards:
        piles.append(Pile("Out of the game", tuple(map(_card, view.discards))))
    seats = tuple(
        (
            names[seat],
            "player one" if seat == view.first_player else "player two",
            str(size),
            "yes" if seat in view.to_act else "no",
        )
        for seat, size in enumerate(view.deck_sizes)
    )
    columns = ("Player", "Role", "Cards in deck", "Must act")
    return Board(" ".join(heading(view, names).plain.split()), tuple(piles), columns, seats)


def hand(view: pb.View) -> tuple[Card, ...]:
    """Nobody has a hand: decks lie face down, and even their owners do not know their order."""
    return ()


def _stack(name: str, stack: pb.StackState) -> Pile:
    die = f"die shows {stack.die}" if stack.HasField("die") else "no die yet"
    return Pile(name, tuple(map(_card, stack.cards)), die, 0 if stack.cards else 1)


def _card(number: int) -> Card:
    beast = number > SIX
    return Card(
        str(number),
        "purple" if beast else "plain",
        "Beast" if beast else "",
        f"Beast {number}" if beast else str(number),
    )
