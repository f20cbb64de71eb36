"""The clocks of a match and the timers they arm, as a fold of its records.

A seat's clock runs from the record that asks the seat to act until the record of its own command, whatever
other seats do meanwhile; it stands still while the match is paused. Before the start one limit at a time runs for
the whole table. Time comes from records alone: nothing here looks at a clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from sixledger.ledger import hashing
from sixledger.v1 import engine_service_pb2, match_service_pb2, record_pb2

if TYPE_CHECKING:
    from sixledger.ledger.match import Match

JOIN, CONTRIBUTE, REVEAL = record_pb2.TIMER_KIND_JOIN, record_pb2.TIMER_KIND_CONTRIBUTE, record_pb2.TIMER_KIND_REVEAL
TURN, PAUSE = record_pb2.TIMER_KIND_TURN, record_pb2.TIMER_KIND_PAUSE
NO_POLICY, NONE = record_pb2.TIMEOUT_POLICY_UNSPECIFIED, record_pb2.TIMEOUT_POLICY_NONE
FIRST_LEGAL, FORFEIT = record_pb2.TIMEOUT_POLICY_FIRST_LEGAL, record_pb2.TIMEOUT_POLICY_FORFEIT
GO_ON = record_pb2.WITHHELD_POLICY_GO_ON

Kind: TypeAlias = record_pb2.TimerKind.ValueType
#: Later than every deadline, in microseconds.
NEVER = 1 << 63
#: Longest limit that a match may have, in microseconds: 100 days.
MAX_LIMIT_US = 100 * 24 * 3600 * 1_000_000
_LIMITS = ("turn_us", "bank_us", "increment_us", "join_us", "contribute_us", "reveal_us", "pause_us")


def limits_turns(clock: record_pb2.Clock) -> bool:
    """True if the clock limits how long a seat may take in the game."""
    return bool(clock.turn_us or clock.bank_us)


def clock_fault(clock: record_pb2.Clock, policy: record_pb2.TimeoutPolicy.ValueType) -> tuple[str, str] | None:
    """What is wrong with the time limits of an opening: a field path and why; None if nothing is."""
    for name in _LIMITS:
        if getattr(clock, name) > MAX_LIMIT_US:
            return f"clock.{name}", f"must be at most {MAX_LIMIT_US}: 100 days"
    if clock.increment_us and not clock.bank_us:
        return "clock.increment_us", "needs a bank_us to be added to"
    if clock.withheld not in record_pb2.WithheldPolicy.values():
        return "clock.withheld", "is not a policy of this release"
    if clock.withheld == GO_ON and not (clock.contribute_us or clock.reveal_us):
        return "clock.withheld", "needs a contribute_us or reveal_us: without them nobody is late"
    if policy not in record_pb2.TimeoutPolicy.values():
        return "timeout_policy", "is not a policy of this release"
    if policy in (FIRST_LEGAL, FORFEIT) and not limits_turns(clock):
        return "timeout_policy", "needs a clock with turn_us or bank_us: without them no seat runs out of time"
    return None


def settled(
    clock: record_pb2.Clock | None, policy: record_pb2.TimeoutPolicy.ValueType
) -> tuple[record_pb2.Clock | None, record_pb2.TimeoutPolicy.ValueType]:
    """The time limits as record 0 states them: no clock without limits, the default policy of turns by its name.

    What happens by default when a seat withholds its contribution goes without saying.
    """
    if clock is None or not any(getattr(clock, name) for name in _LIMITS):
        return None, NO_POLICY
    if clock.HasField("withheld") and clock.withheld != GO_ON:
        stated = record_pb2.Clock()
        stated.CopyFrom(clock)
        stated.ClearField("withheld")
        clock = stated
    return clock, (policy or NONE) if limits_turns(clock) else NO_POLICY


@dataclass(slots=True)
class Clocks:
    """How the clocks of a match stand after its last record."""

    #: What was left of each seat's bank when its clock last stopped; empty before the start.
    banks: list[int] = field(default_factory=list)
    #: By seat whose clock runs: the record that asked it to act, and since when it runs, pauses taken off.
    running: dict[int, tuple[int, int]] = field(default_factory=dict)
    #: Before the start: what the table waits for, the record from which that runs, and its time.
    phase: tuple[Kind, int, int] | None = None
    #: While the match is paused: the record that paused it, and its time.
    paused: tuple[int, int] | None = None
    #: The first deadline to pass, or NEVER.
    first_us: int = NEVER

    def copy(self) -> Clocks:
        """An independent copy."""
        return Clocks(self.banks.copy(), self.running.copy(), self.phase, self.paused, self.first_us)

    def move(self, match: Match, actor: int | None) -> None:
        """Move on to the last record of `match`; `actor` is the seat whose command it holds."""
        seq, now = match.seq, match.time_us
        if match.over:
            self._stop_all(match, now)
        elif match.state is None:
            kind = phase(match)
            if self.phase is None or self.phase[0] != kind:
                self.phase = (kind, seq, now)
        else:
            self._move_seats(match, actor, seq, now)
        self.settle(match)

    def settle(self, match: Match) -> None:
        """Find the first deadline anew."""
        self.first_us = min((deadline for deadline, _, _, _ in self.armed(match)), default=NEVER)

    def _stop_all(self, match: Match, now: int) -> None:
        if self.paused is not None:
            now = self.paused[1]
        for seat in list(self.running):
            self._stop(match, seat, now, acted=False)
        self.phase = self.paused = None

    def _move_seats(self, match: Match, actor: int | None, seq: int, now: int) -> None:
        if self.phase is not None:
            self.phase = None
        if not self.banks:
            self.banks = [match.opened.clock.bank_us] * len(match.seats)
        if match.paused and self.paused is None:
            self.paused = (seq, now)
        elif not match.paused and self.paused is not None:
            gone = now - self.paused[1]
            self.running = {seat: (armed, since + gone) for seat, (armed, since) in self.running.items()}
            self.paused = None
        to_act = match.open_decision.seats
        for seat in list(self.running):
            if seat == actor or seat not in to_act:
                self._stop(match, seat, now, acted=seat == actor)
        for seat in to_act:
            if seat not in self.running:
                self.running[seat] = (seq, now)

    def _stop(self, match: Match, seat: int, now: int, *, acted: bool) -> None:
        """Stop the clock of a seat, and take the time from its bank."""
        spent = now - self.running.pop(seat)[1]
        clock = match.opened.clock
        if clock.bank_us:
            if match.opened.timeout_policy != NONE:
                # A timer may fire late; the seat does not pay for that.
                spent = min(spent, self.allowance(match, seat))
            self.banks[seat] = max(self.banks[seat] - spent, 0) + (clock.increment_us if acted else 0)

    def allowance(self, match: Match, seat: int) -> int:
        """How long the seat may take for its present act, in microseconds; NEVER: as long as it likes."""
        clock = match.opened.clock
        return min(clock.turn_us or NEVER, self.banks[seat] if clock.bank_us else NEVER)

    def armed(self, match: Match) -> list[tuple[int, Kind, int, int]]:
        """The armed timers as (deadline, kind, seat or 0xFFFF, arming record), in no order."""
        clock = match.opened.clock
        if self.phase is not None:
            kind, seq, since = self.phase
            limit = {JOIN: clock.join_us, CONTRIBUTE: clock.contribute_us, REVEAL: clock.reveal_us}[kind]
            return [(since + limit, kind, hashing.NO_SEAT, seq)] if limit else []
        if self.paused is not None:
            seq, since = self.paused
            return [(since + clock.pause_us, PAUSE, hashing.NO_SEAT, seq)] if clock.pause_us else []
        if match.opened.timeout_policy not in (FIRST_LEGAL, FORFEIT):
            return []
        return [(since + self.allowance(match, seat), TURN, seat, seq) for seat, (seq, since) in self.running.items()]


def phase(match: Match) -> Kind:
    """What an open match waits for."""
    if not match.closed:
        return JOIN
    if match.opened.mode == record_pb2.CONTRIBUTION_MODE_COMMIT_REVEAL and not missing(match, CONTRIBUTE):
        return REVEAL
    return CONTRIBUTE


def missing(match: Match, kind: Kind) -> list[int]:
    """The seats that hold up the start: that have not committed or, as `kind` says, contributed.

    Not those without which the match goes on.
    """
    commits = kind == CONTRIBUTE and match.opened.mode == record_pb2.CONTRIBUTION_MODE_COMMIT_REVEAL
    return [
        number
        for number, seat in enumerate(match.seats)
        if seat.contributes and not seat.withheld and not (seat.commitment if commits else seat.contribution)
    ]


def timers(match: Match) -> list[engine_service_pb2.Timer]:
    """The armed timers, the first to fire first: by deadline, then by seat."""
    if match.clocks is None:
        return []
    result = []
    for deadline, kind, seat, seq in sorted(match.clocks.armed(match)):
        timer = engine_service_pb2.Timer(
            kind=kind,
            armed_seq=seq,
            deadline_us=deadline,
            request_id=hashing.timer_request_id(match.match_id, seq, kind, seat),
        )
        if seat != hashing.NO_SEAT:
            timer.seat = seat
        result.append(timer)
    return result


def consequence(match: Match, timer: engine_service_pb2.Timer) -> record_pb2.Lifecycle | None:
    """The step with which an armed timer fires; None: the first legal command of its seat."""
    if timer.kind == TURN:
        if match.opened.timeout_policy == FIRST_LEGAL:
            return None
        return record_pb2.Lifecycle(forfeited=record_pb2.Forfeited(seat=timer.seat))
    if timer.kind == PAUSE:
        return record_pb2.Lifecycle(resumed=record_pb2.Resumed())
    seats = [] if timer.kind == JOIN else missing(match, timer.kind)
    missed = record_pb2.MissedDeadline(timer=timer.kind, seats=seats)
    if timer.kind != JOIN and match.opened.clock.withheld == GO_ON and _somebody_else(match, seats):
        return record_pb2.Lifecycle(withheld=missed)
    return record_pb2.Lifecycle(aborted=record_pb2.Aborted(missed=missed))


def _somebody_else(match: Match, missing: list[int]) -> bool:
    """True if a seat is left that contributes: without any the author alone would choose the deal."""
    contributing = (n for n, seat in enumerate(match.seats) if seat.contributes and not seat.withheld)
    return any(number not in missing for number in contributing)


def fire(timer: engine_service_pb2.Timer, time_us: int) -> engine_service_pb2.Action:
    """The action with which a timer fires at this time."""
    cause = record_pb2.Cause(
        kind=record_pb2.CAUSE_KIND_TIMER,
        seat=timer.seat,
        request_id=timer.request_id,
        timer=timer.kind,
        armed_seq=timer.armed_seq,
    )
    return engine_service_pb2.Action(cause=cause, time_us=time_us, fire=engine_service_pb2.FireAction())


def timer_fault(
    timer: engine_service_pb2.Timer | None, cause: record_pb2.Cause, time_us: int
) -> tuple[str, str] | None:
    """What is wrong with a record that a timer is said to cause: a field path and why; None if nothing is.

    `timer` is the first of those that are armed.
    """
    if timer is None:
        return "cause.timer", "no timer is armed"
    named = (cause.timer, cause.seat, cause.armed_seq, cause.HasField("armed_seq"))
    if named != (timer.kind, timer.seat, timer.armed_seq, True):
        return "cause.timer", "names another timer than the first that is armed"
    if cause.request_id != timer.request_id:
        return "cause.request_id", "is not that of the timer"
    if time_us < timer.deadline_us:
        return "time_us", f"lies before the deadline {timer.deadline_us}"
    return None


def reading(match: Match, time_us: int) -> match_service_pb2.ClockState | None:
    """How the clocks stand at a time, taken as that of the last record if it lies before; None if there are none."""
    clocks = match.clocks
    if clocks is None and not match.paused:
        return None
    now = max(time_us, match.time_us)
    state = match_service_pb2.ClockState(time_us=now, paused=match.paused)
    if clocks is None:
        return state
    if clocks.banks and limits_turns(match.opened.clock):
        at = now if clocks.paused is None else clocks.paused[1]
        for seat, bank in enumerate(clocks.banks):
            spent = max(at - clocks.running[seat][1], 0) if seat in clocks.running else 0
            state.seats.add(
                running=seat in clocks.running and not match.paused,
                remaining_us=max(clocks.allowance(match, seat) - spent, 0),
                bank_us=max(bank - spent, 0),
            )
    if armed := timers(match):
        state.deadline_us, state.timer = armed[0].deadline_us, armed[0].kind
    return state
