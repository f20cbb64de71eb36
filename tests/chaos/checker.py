"""Says whether a service kept its word, from the histories of its clients and the ledgers that it exported.

It knows nothing of the service, and asks it nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from chaos.history import ACKNOWLEDGED, BROKEN, ENDED, INVOKED, REFUSED, SEEN, Event
from chaos.ledgers import Ledger, LedgerRecord

#: Violations that are told in full, for each check.
TOLD = 20


@dataclass(slots=True)
class Check:
    """One assertion: how many things were looked at, and which broke it."""

    name: str
    looked_at: int = 0
    violations: list[str] = field(default_factory=list)
    #: All of them; `violations` are the first.
    broken: int = 0

    def of(self, fine: bool, violation: str) -> None:
        """Count one thing."""
        self.looked_at += 1
        if not fine:
            self.broken += 1
            if len(self.violations) < TOLD:
                self.violations.append(violation)


def check(events: Sequence[Event], ledgers: Sequence[Ledger]) -> list[Check]:
    """Every assertion, with what broke it."""
    by_match: dict[str, list[Ledger]] = defaultdict(list)
    for ledger in ledgers:
        by_match[ledger.match].append(ledger)
    # The longest: that others are its beginnings is an assertion of its own.
    final = {match: max(each, key=lambda ledger: len(ledger.records)) for match, each in by_match.items()}
    return [made(events, final) for made in _OF_HISTORY] + [_one_ledger(by_match), _verified(ledgers, final)]


def _record(final: Mapping[str, Ledger], match: str, seq: int) -> LedgerRecord | None:
    ledger = final.get(match)
    return ledger.records[seq] if ledger is not None and 0 <= seq < len(ledger.records) else None


def _where(event: Event) -> str:
    return f"{event.by}: {event.act or event.what} {event.request[:8]} of match {event.match[:8]}, record {event.seq}"


def _acknowledged(events: Sequence[Event], final: Mapping[str, Ledger]) -> Check:
    made = Check("every acknowledged act is in its ledger exactly once, as the record that was shown")
    found: dict[tuple[str, int, str], int] = Counter(
        (match, record.seat, record.request) for match, ledger in final.items() for record in ledger.records
    )
    for event in events:
        if event.what == ACKNOWLEDGED:
            times = found[event.match, event.seat, event.request]
            record = _record(final, event.match, event.seq)
            same = record is not None and (record.hash, record.seat, record.request) == (
                event.hash,
                event.seat,
                event.request,
            )
            made.of(times == 1 and same, f"{_where(event)}: {times} times, {'the same' if same else 'not that record'}")
    return made


def _no_doubles(_: Sequence[Event], final: Mapping[str, Ledger]) -> Check:
    made = Check("no request is in a ledger twice")
    for match, ledger in final.items():
        counted = Counter((record.seat, record.request) for record in ledger.records if record.request)
        for (seat, request), times in counted.items():
            made.of(times == 1, f"match {match[:8]}: request {request[:8]} of seat {seat}: {times} times")
    return made


def _refused(events: Sequence[Event], final: Mapping[str, Ledger]) -> Check:
    made = Check("no refused act is in a ledger")
    found = {(match, record.seat, record.request) for match, each in final.items() for record in each.records}
    for event in events:
        if event.what == REFUSED:
            made.of((event.match, event.seat, event.request) not in found, f"{_where(event)}: {event.detail}")
    return made


def _asked_for(events: Sequence[Event], final: Mapping[str, Ledger]) -> Check:
    made = Check("every act of a seat in a ledger was asked for by its client")
    asked = {(event.match, event.seat, event.request) for event in events if event.what == INVOKED}
    for match, ledger in final.items():
        for seq, record in enumerate(ledger.records):
            if record.seat >= 0 and not record.hosted:
                fine = (match, record.seat, record.request) in asked
                made.of(fine, f"match {match[:8]}, record {seq}: request {record.request[:8]} of seat {record.seat}")
    return made


def _no_fork(events: Sequence[Event], final: Mapping[str, Ledger]) -> Check:
    made = Check("no ledger forks: every record that anybody was shown is in the final ledger, at its number")
    for event in events:
        if event.what in (SEEN, ACKNOWLEDGED):
            record = _record(final, event.match, event.seq)
            made.of(record is not None and record.hash == event.hash, f"{_where(event)}: {event.hash[:8]}")
    return made


def _in_time(events: Sequence[Event], final: Mapping[str, Ledger]) -> Check:
    made = Check("no act is recorded before one that somebody had been shown when it was first sent")
    newest: dict[str, int] = {}
    first: dict[tuple[str, int, str], int] = {}
    places = {
        (match, record.seat, record.request): seq
        for match, ledger in final.items()
        for seq, record in enumerate(ledger.records)
    }
    for event in sorted(events, key=lambda each: each.time_ns):
        if event.what in (SEEN, ACKNOWLEDGED):
            newest[event.match] = max(newest.get(event.match, -1), event.seq)
        elif event.what == INVOKED:
            first.setdefault((event.match, event.seat, event.request), newest.get(event.match, -1))
    for key, known in first.items():
        if key in places:
            match, seat, request = key
            place = f"match {match[:8]}: request {request[:8]} of seat {seat}"
            made.of(places[key] > known, f"{place} is record {places[key]}, sent when {known} was known")
    return made


def _watched(events: Sequence[Event], final: Mapping[str, Ledger]) -> Check:
    made = Check("every watcher saw a gap-free sequence, and whoever was told the end saw all")
    following: dict[tuple[str, str], int] = {}
    for event in events:
        key = (event.by, event.match)
        if event.what == SEEN:
            expected = following.get(key, 0)
            made.of(event.seq == expected, f"{_where(event)} where {expected} must come")
            following[key] = event.seq + 1
        elif event.what == ENDED:
            ledger = final.get(event.match)
            count = len(ledger.records) if ledger is not None else -1
            seen = following.get(key, 0)
            made.of(seen == count, f"{event.by}: the end of match {event.match[:8]} after {seen} of {count} records")
    return made


def _promises(events: Sequence[Event], _: Mapping[str, Ledger]) -> Check:
    made = Check("no client met a broken promise: a lie, a defect, a refusal without a reason")
    clients = {event.by for event in events}
    for event in events:
        if event.what == BROKEN:
            clients.discard(event.by)
            made.of(False, f"{event.by}, match {event.match[:8]}: {event.detail}")
    made.looked_at += len(clients)
    return made


def _one_ledger(by_match: Mapping[str, Sequence[Ledger]]) -> Check:
    made = Check("all replicas export the same ledger")
    for match, exports in by_match.items():
        longest = max(exports, key=lambda each: len(each.records))
        for each in exports:
            same = each.records == longest.records
            count, all_ = len(each.records), len(longest.records)
            made.of(same, f"match {match[:8]}: {each.replica} has {count} records, {longest.replica} {all_}")
    return made


def _verified(ledgers: Sequence[Ledger], final: Mapping[str, Ledger]) -> Check:
    made = Check("every match has ended by rule, and its ledger is valid, with every signed head that a client got")
    judged = {ledger.match: ledger.verdict for ledger in ledgers if ledger.verdict is not None}
    for match in final:
        verdict = judged.get(match)
        made.of(verdict == "VALID", f"match {match[:8]}: {verdict or 'nobody has verified it'}")
    return made


def _kept(events: Sequence[Event], final: Mapping[str, Ledger]) -> Check:
    made = Check("every match that was opened is there")
    for event in events:
        if event.what == ACKNOWLEDGED and event.act == "create":
            made.of(event.match in final, f"match {event.match[:8]} is gone")
    return made


_OF_HISTORY: tuple[Callable[[Sequence[Event], Mapping[str, Ledger]], Check], ...] = (
    _acknowledged,
    _no_doubles,
    _refused,
    _asked_for,
    _no_fork,
    _in_time,
    _watched,
    _promises,
    _kept,
)
