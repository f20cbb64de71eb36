"""What a seat or a spectator sees of a state (RULES 0.9): everything but the cards of the decks."""

from __future__ import annotations

from sixledger.engine.piece.legal import legal
from sixledger.engine.piece.options import SEATS
from sixledger.engine.piece.state import State
from sixledger.games.piece.v1 import piece_pb2 as pb


def view(state: State, viewer: int | None) -> pb.View:
    """The view of `viewer`, a seat or None for a spectator."""
    if viewer is not None and not 0 <= viewer < SEATS:
        raise ValueError(f"there is no seat {viewer}; the match has {SEATS}, counted from 0")
    if not state.started:
        return pb.View(viewer=viewer, players=SEATS, options=state.options)
    left, right = stack_states(state)
    return pb.View(
        viewer=viewer,
        players=SEATS,
        options=state.options,
        first_player=state.first_player,
        phase=state.phase,
        turn=state.turn,
        seat=state.seat,
        deck_sizes=state.deck_sizes,
        root=state.root or None,
        left=left,
        right=right,
        flipped=state.flipped or None,
        ability=state.ability or None,
        deck=state.deck,
        placed=state.placed,
        beast_look=state.beast_look,
        discards=state.discards,
        player_one_failed=state.failed,
        time_up=state.time_up,
        decision=state.decision,
        to_act=state.to_act(),
        legal=[] if viewer is None else [_wrap(command) for command in legal(state, viewer)],
        result=state.result,
    )


def stack_states(state: State) -> list[pb.StackState]:
    """Left and right stack with their dice, as messages."""
    return [pb.StackState(cards=stack, die=die or None) for stack, die in zip(state.stacks, state.dice, strict=True)]


def _wrap(command: object) -> pb.Command:
    """The command of a seat inside the game's oneof."""
    if isinstance(command, pb.Decline):
        return pb.Command(decline=command)
    if isinstance(command, pb.UseAbility):
        return pb.Command(use_ability=command)
    if isinstance(command, pb.Place):
        return pb.Command(place=command)
    assert isinstance(command, pb.Guess)
    return pb.Command(guess=command)
