"""Record 0: what a match is opened with, and the draft of the record that says so."""

from __future__ import annotations

from typing import Any

from sixledger.engine.game import Game
from sixledger.ledger import clocks
from sixledger.ledger.draft import Draft
from sixledger.ledger.faults import MalformedAct
from sixledger.ledger.heads import MAX_TIME_US
from sixledger.ledger.match import Match
from sixledger.ledger.seeds import SeedChain
from sixledger.v1 import record_pb2

COMMIT_REVEAL = record_pb2.CONTRIBUTION_MODE_COMMIT_REVEAL
SERVER_ONLY = record_pb2.CONTRIBUTION_MODE_SERVER_ONLY
TABLE = record_pb2.CAUSE_KIND_TABLE


def opening(
    game: Game[Any],
    seats: int,
    options: Any,
    mode: record_pb2.ContributionMode.ValueType,
    seeds: SeedChain,
    ready_seats: int = 0,
    clock: record_pb2.Clock | None = None,
    timeout_policy: record_pb2.TimeoutPolicy.ValueType = clocks.NO_POLICY,
) -> record_pb2.MatchOpened:
    """The opening of a match; unspecified mode: commit and reveal. Raises IllegalOptions or MalformedAct.

    `ready_seats`: the table asks for readiness, from so many seats on; 0: it does not. `clock`: its time limits.
    """
    setup = game.complete(seats, options)
    if ready_seats > seats:
        raise MalformedAct("ready_seats", f"the match has {seats} seats")
    if fault := clocks.clock_fault(clock or record_pb2.Clock(), timeout_policy):
        raise MalformedAct(*fault)
    clock, timeout_policy = clocks.settled(clock, timeout_policy)
    return record_pb2.MatchOpened(
        ruleset=record_pb2.Ruleset(id=game.id, version=game.version, digest=game.digest),
        options=game.schema.options.pack(setup.options),
        seats=seats,
        epochs=game.epochs(setup),
        commitment=seeds.commitment,
        mode=mode or COMMIT_REVEAL,
        ready_seats=ready_seats or None,
        clock=clock,
        timeout_policy=timeout_policy or None,
    )


def open_match(match: Match, request_id: bytes, time_us: int, seeds: SeedChain, *, immediate: bool = False) -> Draft:
    """The draft of record 0 of `match`, fresh from `begin_opened`.

    `immediate` closes the seats at once, without keys and contributions, and starts the game in record 0;
    the mode must be SERVER_ONLY. Raises MalformedAct.
    """
    draft = prepare_opening(match, request_id, time_us)
    carry_out_opening(draft, seeds, immediate=immediate)
    return draft


def prepare_opening(match: Match, request_id: bytes, time_us: int) -> Draft:
    """The draft of record 0 without what follows from it. Raises MalformedAct."""
    check_request_id(request_id)
    check_time(time_us)
    if len(match.match_id) != 16:
        raise MalformedAct("match_id", "must be 16 bytes")
    draft = Draft(record_pb2.Cause(kind=TABLE, request_id=request_id), time_us, match.copy(), 0, 0)
    draft.lifecycle.append(record_pb2.Lifecycle(opened=match.opened))
    return draft


def carry_out_opening(draft: Draft, seeds: SeedChain, *, immediate: bool) -> None:
    """Fill the draft of record 0 with what follows from the opening. Raises as `carry_out`."""
    if not immediate:
        return
    if draft.after.opened.mode != SERVER_ONLY:
        raise MalformedAct("immediate", "needs the mode SERVER_ONLY: nobody can contribute")
    if draft.after.opened.HasField("ready_seats"):
        raise MalformedAct("immediate", "does not go with ready_seats: there is nobody to be ready")
    for seat in draft.after.seats:
        seat.joined = True
    draft.close(seeds)


def check_request_id(request_id: bytes) -> None:
    """Raise MalformedAct unless it has its length."""
    if len(request_id) != 16:
        raise MalformedAct("request_id", "must be 16 bytes")


def check_time(time_us: int) -> None:
    """Raise MalformedAct for a time that no record can have."""
    if time_us > MAX_TIME_US:
        raise MalformedAct("time_us", "lies after the year 9999")
