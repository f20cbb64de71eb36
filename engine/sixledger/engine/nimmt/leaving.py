"""Ways out of a match that no rule of the game knows (RULES 0.8)."""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.message import Message
from sixledger.engine.game import ABORTED, FORFEIT, RESIGNED, competition_ranking
from sixledger.engine.nimmt.commands import check_seat
from sixledger.engine.nimmt.core import check_running
from sixledger.engine.nimmt.state import State
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb


def leave(state: State, reason: str, seat: int | None) -> Iterator[Message]:
    """The events that end a match outside its rules (RULES 0.8)."""
    if reason == ABORTED:
        check_running(state)
        yield pb.MatchEnded(scores=state.totals, reason=pb.END_REASON_ABORTED)
        return
    if reason not in (RESIGNED, FORFEIT) or seat is None:
        raise ValueError(f"nobody leaves a match by {reason!r} of seat {seat}")
    check_seat(state, seat)
    check_running(state)
    others = [each for each in range(state.players) if each != seat]
    ranks = competition_ranking([state.totals[each] for each in others], low_is_good=True)
    ranking = dict(zip(others, ranks, strict=True)) | {seat: state.players}
    yield pb.MatchEnded(
        scores=state.totals,
        winners=[each for each in others if ranking[each] == 1],
        ranking=[ranking[each] for each in range(state.players)],
        reason=pb.END_REASON_RESIGNED if reason == RESIGNED else pb.END_REASON_FORFEIT,
    )
