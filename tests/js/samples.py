"""Random ledgers of every game, variant, mode and viewer, and lies about them; number and seed make each."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from sixledger.ledger.faults import LedgerFault
from sixledger.ledger.file import dump
from sixledger.ledger.records import redact
from sixledger.v1 import record_pb2
from soak.plan import Case, case_of
from support import forging
from support.ledgers import (
    COMMIT_REVEAL,
    KEYS,
    OTHER_SIGNER,
    SEATS,
    SERVER_ONLY,
    START_US,
    Table,
    copies,
    head,
    heads,
    rechain,
)

_MODES = (COMMIT_REVEAL, SEATS, SERVER_ONLY)
_POLICIES = (record_pb2.TIMEOUT_POLICY_FIRST_LEGAL, record_pb2.TIMEOUT_POLICY_FORFEIT)
CUT_GZIP = "cut gzip data"
#: Of a hundred matches so many are played to their end.
_TO_THE_END = 30


@dataclass(frozen=True, slots=True)
class Sample:
    """One ledger file; `lie` names what was done to it, empty if nothing."""

    number: int
    kind: str
    viewer: str
    data: bytes = field(repr=False)
    lie: str = ""


def sample(number: int, seed: int) -> Sample:
    """Ledger `number`: a random match, as a random viewer has it, at its end or before."""
    case = case_of(number, seed)
    rng = _rng("sample", number, seed)
    table = _play(case, number, rng)
    return _export(table, number, case, rng)


def lying(number: int, seed: int) -> Sample:
    """Ledger `number`, in the match's full form or a redacted one, with a lie in it; the lies come in turn."""
    case = case_of(number, seed)
    rng = _rng("lie", number, seed)
    table = _play(case, number, rng)
    name = sorted(LIES)[number % len(LIES)]
    while True:
        try:
            return Sample(number, case.kind, "", LIES[name](table, rng), name)
        except LedgerFault:  # no file can be written of this lie
            continue


def _rng(what: str, number: int, seed: int) -> Random:
    return Random(hashlib.sha256(f"js/{what}/{seed}/{number}".encode()).digest())


# -- matches -------------------------------------------------------------------------------------


def _play(case: Case, number: int, rng: Random) -> Table:
    seats = range(case.setup.seats)
    mode = rng.choice(_MODES)
    immediate = mode == SERVER_ONLY and rng.random() < 0.3
    some = frozenset() if immediate else frozenset(seat for seat in seats if rng.random() < 0.5)
    timed = rng.random() < 0.3
    table = Table(
        seats=case.setup.seats,
        options=case.setup.options,
        mode=mode,
        signing=some,
        contributing=frozenset() if mode == SERVER_ONLY else frozenset(s for s in seats if rng.random() < 0.6),
        immediate=immediate,
        ready_seats=rng.randrange(case.setup.seats + 1) if not immediate and rng.random() < 0.3 else 0,
        name=f"second opinion {number} {rng.random()}",
        game=case.game,
        clock=_clock(rng) if timed else None,
        policy=rng.choice(_POLICIES) if timed else record_pb2.TIMEOUT_POLICY_UNSPECIFIED,
    )
    _start(table, rng)
    left = 1_000_000 if rng.randrange(100) < _TO_THE_END else rng.randrange(60)
    while left and not table.match.over and table.match.state is not None:
        left -= 1
        _act(table, rng)
    if not table.match.over and table.match.state is not None and not _is_due(table) and rng.random() < 0.6:
        table.at = _time(table)
        if rng.random() < 0.5:
            table.resign(rng.randrange(table.seats))
        else:
            table.abort()
    return table


def _clock(rng: Random) -> record_pb2.Clock:
    clock = record_pb2.Clock(turn_us=60_000_000, pause_us=60_000_000, contribute_us=90_000_000, reveal_us=90_000_000)
    if rng.random() < 0.5:
        clock.withheld = record_pb2.WITHHELD_POLICY_GO_ON
    return clock


def _time(table: Table) -> int:
    """Microseconds since the start of the match: that of the last record."""
    first, last = (record_pb2.Body.FromString(table.records[place].body).time_us for place in (0, -1))
    return int(last - first)


def _start(table: Table, rng: Random) -> None:
    if table.immediate:
        return
    asks = table.ready_seats > 0
    for seat in range(table.seats):
        # Where readiness is asked for, hosted seats alone would begin too early.
        hosted = not asks and seat not in table.signing | table.contributing and rng.random() < 0.2
        table.join(seat, hosted=hosted)
        if seat < table.seats - 1 and rng.random() < 0.1:
            table.leave(seat)
            table.join(seat, hosted=hosted)
    for seat in range(table.seats) if asks else ():
        table.ready(seat)
    if table.clock is not None:
        _contribute(table, rng)
    elif rng.random() < 0.95:
        table.contribute()


def _contribute(table: Table, rng: Random) -> None:
    """Now and then a seat keeps its commitment or contribution to itself, until the time is over."""
    steps = [table.commit, table.reveal] if table.mode == COMMIT_REVEAL else [table.reveal]
    giving = sorted(table.contributing)
    for step in steps:
        giving = [seat for seat in giving if rng.random() < 0.85]
        for seat in giving:
            step(seat)
        if not table.match.over and table.match.state is None and _waits_for(table, step):
            table.fire()
            table.at = _time(table)
        if table.match.over:
            return


def _waits_for(table: Table, step: Callable[[int], Any]) -> bool:
    """True if the limit for this step still runs."""
    kinds = {each.kind for each in table.match.timers()}
    wanted = record_pb2.TIMER_KIND_REVEAL
    if step == table.commit or table.mode != COMMIT_REVEAL:
        wanted = record_pb2.TIMER_KIND_CONTRIBUTE
    return wanted in kinds


def _act(table: Table, rng: Random) -> None:
    if _is_due(table):
        table.fire()
        return
    of_table = table.game.table_legal(table.match.state)
    armed = table.match.timers()
    table.at = _time(table) + rng.randrange(2_000)
    if armed:  # only a timer may act after the deadline that is armed first
        table.at = min(table.at, armed[0].deadline_us - START_US)
    choice = rng.random()
    if of_table and choice < 0.05:
        table.act(table.table_command(rng.choice(of_table)))
    elif choice < 0.08:
        table.pause()
        if table.match.timers() and rng.random() < 0.3:
            table.fire()
        else:
            table.resume()
    elif armed and choice < 0.18:
        table.fire()
    else:
        table.play_one()


def _is_due(table: Table) -> bool:
    """True if nobody but a timer may act any more."""
    armed = table.match.timers()
    return bool(armed) and armed[0].deadline_us - START_US <= _time(table)


# -- exports -------------------------------------------------------------------------------------


def _export(table: Table, number: int, case: Case, rng: Random) -> Sample:
    count = len(table.records) if rng.random() < 0.6 else rng.randrange(1, len(table.records) + 1)
    viewer = rng.choice((None, "operator", rng.randrange(table.seats)))
    records = _seen(table, count, viewer)
    counts = {rng.randrange(1, count + 1) for _ in range(rng.randrange(3))}
    data = dump(records, heads(records, *counts), KEYS)
    shown = viewer if isinstance(viewer, str) else "spectator" if viewer is None else "seat"
    return Sample(number, case.kind, shown, gzip.compress(data, 1) if rng.random() < 0.1 else data)


def _seen(table: Table, count: int, viewer: int | str | None) -> list[record_pb2.Record]:
    """What a viewer has of the first `count` records once they are all there."""
    if isinstance(viewer, str):
        return copies(table.records[:count])
    revealed = table.matches[count - 1].revealed
    return [redact(record, viewer, revealed) for record in table.records[:count]]


# -- lies ----------------------------------------------------------------------------------------


def _written(records: Sequence[record_pb2.Record], notes: Sequence[str], game: Any, keys: Any = KEYS) -> bytes:
    return forging.write(records, notes, keys, game)


def _flipped(table: Table, rng: Random) -> bytes:
    data = bytearray(table.file(1 + len(table.records) // 2))
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def _cut(table: Table, rng: Random) -> bytes:
    data = table.file(1)
    return data[: rng.randrange(1, len(data))]


def _stretch(table: Table, rng: Random) -> bytes:
    data = table.file(1)
    start = rng.randrange(len(data))
    end = min(len(data), start + rng.randrange(1, 40))
    return data[:start] + rng.choice((b"", data[start:end] * 2, data[start:end][::-1])) + data[end:]


def _lines(table: Table, rng: Random) -> bytes:
    lines = table.file(1, 1 + len(table.records) // 2).splitlines(keepends=True)
    at = rng.randrange(len(lines))
    match rng.randrange(3):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, lines[at])
        case _:
            other = rng.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
    return b"".join(lines)


def _value(table: Table, rng: Random) -> bytes:
    """Another value somewhere in a line, in canonical JSON; the readable copy stays."""
    lines = table.file(1).decode().splitlines()
    at = rng.randrange(len(lines))
    value = json.loads(lines[at])
    name = rng.choice([each for each in value if each != "shown"])
    value[name] = rng.choice((None, 0, "", "AAAA", [], {}, True, "0" * 32, [{}], lines[at][:50]))
    lines[at] = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return ("\n".join(lines) + "\n").encode()


def _forged(table: Table, rng: Random) -> bytes:
    """Some field changed, all hashes and heads made anew: what a lying author signs."""
    records = forging.forgery(rng, _seen(table, len(table.records), rng.choice((None, "operator", 0))))
    return _written(records, heads(records), table.game)


def _resigned(table: Table, rng: Random) -> bytes:
    """Signed anew, with a key that the header names or one that it does not."""
    records = forging.forgery(rng, table.records)
    keys = rng.choice((KEYS, (OTHER_SIGNER.verifier_key,)))
    return _written(records, heads(records, signer=OTHER_SIGNER), table.game, keys)


def _equivocal(table: Table, rng: Random) -> bytes:
    count = rng.randrange(1, len(table.records) + 1)
    other = rechain(forging.forgery(rng, table.records))
    notes = sorted({head(table.records, count), head(other, count)}) + heads(table.records)[-1:]
    return _written(table.records, notes, table.game)


def _stranger(table: Table, rng: Random) -> bytes:
    """Among the heads is one of another key of the same origin, which fits or does not."""
    count = len(table.records)
    told = rng.choice((table.records, rechain(forging.forgery(rng, table.records))))
    notes = [*heads(table.records)]
    notes.insert(rng.randrange(2), head(told, rng.randrange(1, min(count, len(told)) + 1), signer=OTHER_SIGNER))
    return _written(table.records, notes, table.game, (*KEYS, OTHER_SIGNER.verifier_key))


def _closed(table: Table, rng: Random) -> bytes:
    """An opening is withheld, doubled, or of another seal."""
    records = copies(table.records)
    sealed = [record for record in records if record.openings]
    if sealed:
        record = rng.choice(sealed)
        match rng.randrange(4):
            case 0:
                del record.openings[rng.randrange(len(record.openings))]
            case 1:
                record.openings.append(record.openings[0])
            case 2:
                opening = rng.choice(record.openings)
                opening.salt, opening.value = opening.salt + opening.value[:1], opening.value[1:]
            case _:
                opening = rng.choice(record.openings)
                opening.value = bytes([*opening.value, 0])
    return _written(records, heads(records), table.game)


#: The field of a step that takes part in the deal.
_SECRETS = {"opened": "commitment", "committed": "commitment", "contributed": "contribution", "sealed": "entropy"}


def _seeds(table: Table, rng: Random) -> bytes:
    """A seed, contribution, commitment or the entropy is another, and everything else is made to fit."""
    records = copies(table.records)
    places = []
    for record in records:
        body = record_pb2.Body.FromString(record.body)
        for index, _ in enumerate(body.reveals):
            places.append((record, "reveals", index, "chain"))
        for index, step in enumerate(body.lifecycle):
            case = str(step.WhichOneof("step"))
            if case in _SECRETS:
                places.append((record, case, index, _SECRETS[case]))
    record, case, index, name = rng.choice(places)
    with forging.editing(record) as body:
        holder: Any = body.reveals[index] if case == "reveals" else getattr(body.lifecycle[index], case)
        setattr(holder, name, rng.randbytes(32))
    records = rechain(records)
    return _written(records, heads(records), table.game)


def _signatures(table: Table, rng: Random) -> bytes:
    """A signature, key id, observed head or key of a seat is another."""
    records = copies(table.records)
    signed = [record for record in records if record_pb2.Body.FromString(record.body).cause.observed_head]
    if signed:
        record = rng.choice(signed)
        with forging.editing(record) as body:
            name = rng.choice(("signature", "key_id", "observed_head", "request_id"))
            value = bytearray(getattr(body.cause, name) or bytes(64))
            value[rng.randrange(len(value))] ^= 1 << rng.randrange(8)
            setattr(body.cause, name, bytes(value))
    records = rechain(records)
    return _written(records, heads(records), table.game)


def _seals(table: Table, rng: Random) -> bytes:
    records = copies(table.records)
    sealed = [record for record in records if record.seals]
    if sealed:
        seal = rng.choice(rng.choice(sealed).seals)
        if rng.random() < 0.5:
            seal.audience ^= 1 << rng.randrange(64)
        else:
            seal.epoch = rng.randrange(4)
    records = rechain(records)
    return _written(records, heads(records), table.game)


def _truncated(table: Table, rng: Random) -> bytes:
    count = rng.randrange(1, len(table.records) + 1)
    return _written(table.records[:count], heads(table.records), table.game)


def _repacked(table: Table, rng: Random) -> bytes:
    data = gzip.compress(table.file(1), 1)
    return data[: rng.randrange(3, len(data))]


LIES: dict[str, Callable[[Table, Random], bytes]] = {
    "a flipped bit": _flipped,
    "a cut file": _cut,
    "a changed stretch": _stretch,
    "changed lines": _lines,
    "another JSON value": _value,
    "a forged record": _forged,
    "another signer": _resigned,
    "two histories": _equivocal,
    "a stranger's head": _stranger,
    "a changed opening": _closed,
    "another seed": _seeds,
    "a changed signature": _signatures,
    "a changed seal": _seals,
    "fewer records": _truncated,
    CUT_GZIP: _repacked,
}
