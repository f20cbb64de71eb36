"""The short way through a record of which nothing is open comes to what the long way comes to, in good and in bad."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest
from sixledger.engine.forces import GAME as FORCES
from sixledger.engine.piece import GAME as PIECE
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb
from sixledger.ledger import applying, hashing, ordinary, records
from sixledger.ledger.faults import LedgerFault
from sixledger.ledger.folding import begin
from sixledger.ledger.match import Match
from sixledger.ledger.records import Facts
from sixledger.v1 import record_pb2
from sixledger.v1.record_pb2 import Body, Record
from support import ledgers
from support.ledgers import Table

EVERYBODY = frozenset(range(3))


def options_of(game: Any) -> Any:
    return next(iter(game.presets.values())).options


MATCHES: dict[str, Callable[[], Table]] = {
    "nimmt": lambda: Table(3, ledgers.rounds(2), name="shut").play(),
    "signed": lambda: Table(3, ledgers.rounds(2), signing=EVERYBODY, name="shut, signed").play(),
    "forces": lambda: Table(3, options_of(FORCES), game=FORCES, signing=frozenset({1})).play(),
    "piece": lambda: Table(2, options_of(PIECE), game=PIECE).play(),
}


@pytest.fixture(scope="module", params=MATCHES)
def table(request: pytest.FixtureRequest) -> Table:
    return MATCHES[request.param]()


def shut(table: Table, viewer: int | None) -> list[Record]:
    """The records as they came to a viewer while no epoch was revealed."""
    return [records.redact(record, viewer, 0) for record in table.records]


def long_way() -> Any:
    return mock.patch.object(applying, "read_shut", return_value=None)


def folded(stands: Match, of: list[Record]) -> list[Facts]:
    return [stands.apply(record) for record in of]


@pytest.mark.parametrize("viewer", [None, 1])
def test_both_ways_read_the_same(table: Table, viewer: int | None) -> None:
    given = shut(table, viewer)
    short, long = begin(given[0]), begin(given[0])
    with mock.patch.object(applying, "read_shut", side_effect=ordinary.read_shut) as read_shut:
        for record in given:
            facts = short.apply(record)
            with long_way():
                assert long.apply(record) == facts
            assert (replace(short, seeds=long.seeds), short.seeds.known) == (long, long.seeds.known)
    assert read_shut.call_count == len(given)


@pytest.mark.parametrize("name", MATCHES)
def test_most_records_go_the_short_way(name: str) -> None:
    given = shut(MATCHES[name](), None)
    stands, taken = begin(given[0]), 0
    for record in given:
        taken += ordinary.read_shut(stands, record, records.read_body(record)) is not None
        stands.apply(record)
    assert taken > 0.9 * sum(bool(Body.FromString(record.body).command) for record in given)


def test_what_it_says_is_the_reader_s_own() -> None:
    """The messages of commands are kept for others: whoever gets one may change it."""
    given = shut(MATCHES["forces"](), None)
    first, second = begin(given[0]), begin(given[0])
    for record in given:
        facts = first.apply(record)
        if facts.command is not None:
            facts.command.Clear()
        for event in facts.events:
            event.Clear()
    assert folded(second, given)[-1].command == records.read(given[-1], second.game.schema).command


def test_what_is_open_does_not_show_when_it_is_printed(table: Table) -> None:
    """A log or a traceback may print it."""
    for record in table.records:
        whole, public = (records.read(each, table.game.schema) for each in (record, records.redact(record, None, 0)))
        assert repr(replace(whole, closed=[])) == repr(replace(public, closed=[]))


# -- in bad ----------------------------------------------------------------------------------------


def in_body(change: Callable[[Any], object]) -> Callable[[Record], None]:
    def changed(record: Record) -> None:
        body = Body.FromString(record.body)
        change(body)
        record.body = body.SerializeToString(deterministic=True)

    return changed


def setting(path: str, value: Any) -> Callable[[Record], None]:
    """Sets a field of the body."""

    def change(body: Any) -> None:
        *parents, name = path.split(".")
        for parent in parents:
            body = getattr(body, parent)
        setattr(body, name, value(getattr(body, name)) if callable(value) else value)

    return in_body(change)


def _open_card(body: Any) -> None:
    body.events[0].nimmt.chosen.card = 7


def _unknown_field(body: Any) -> None:
    body.MergeFromString(b"\xf8\x07\x01")


def _short_commitment(record: Record) -> None:
    record.seals[0].commitment = bytes(31)


def _audience(record: Record) -> None:
    record.seals[0].audience <<= 1


def _later_audience(record: Record) -> None:
    record.seals[-1].audience = 1 << 40


def _epoch(record: Record) -> None:
    record.seals[0].epoch += 1


def _later_epoch(record: Record) -> None:
    record.seals[-1].epoch += 1


BAD: dict[str, Callable[[Record], None]] = {
    "seq": setting("seq", lambda seq: seq + 1),
    "other match": setting("match_id", bytes(16)),
    "earlier": setting("time_us", 1),
    "after all time": setting("time_us", 1 << 62),
    "other decision": setting("cause.decision", lambda decision: decision + 1),
    "other seat": setting("cause.seat", lambda seat: seat + 1),
    "no seat": setting("cause.seat", 77),
    "short request id": setting("cause.request_id", b"short"),
    "signed by nobody": setting("cause.signature", bytes(64)),
    "key of nobody": setting("cause.key_id", bytes(8)),
    "timer named": setting("cause.timer", record_pb2.TIMER_KIND_TURN),
    "armed": setting("cause.armed_seq", 1),
    "by the table": setting("cause.kind", record_pb2.CAUSE_KIND_TABLE),
    "by a timer": setting("cause.kind", record_pb2.CAUSE_KIND_TIMER),
    "no command": setting("command", b""),
    "no command at all": setting("command", b"\xff"),
    "command of another game": setting("command", b"\x12\x02\x0a\x00"),
    "command in the open": setting("command", b"\x0a\x04\x0a\x02\x08\x07"),
    "other format": setting("format", 2),
    "lifecycle": in_body(lambda body: body.lifecycle.add().aborted.SetInParent()),
    "reveal": in_body(lambda body: body.reveals.add(epoch=1, chain=bytes(32))),
    "event missing": in_body(lambda body: body.events.pop()),
    "event twice": in_body(lambda body: body.events.append(body.events[0])),
    "empty event": in_body(lambda body: body.events.add()),
    "event out of place": in_body(lambda body: body.events.add().nimmt.card_placed.CopyFrom(pb.CardPlaced(card=9))),
    "event of another game": in_body(lambda body: body.events.add().piece.SetInParent()),
    "event holds its secret": in_body(_open_card),
    "unknown field": in_body(_unknown_field),
    "no body": lambda record: setattr(record, "body", b"\x0a"),
    "short commitment": _short_commitment,
    "seal for others": _audience,
    "later seal for others": _later_audience,
    "seal of another epoch": _epoch,
    "later seal of another epoch": _later_epoch,
    "seal missing": lambda record: record.seals.pop() and None,
    "seal too many": lambda record: record.seals.add(audience=1, epoch=1, commitment=bytes(32)) and None,
    "wrong opening": lambda record: record.openings.add(salt=bytes(32), value=b"x") and None,
}


def outcome(table: Table, seq: int, bad: Record) -> tuple[Any, ...]:
    """What applying a record after `seq` good ones comes to, and how the match then stands."""
    given = shut(table, None)
    stands = begin(given[0])
    folded(stands, given[:seq])
    try:
        facts: Any = stands.apply(bad)
    except LedgerFault as fault:
        return fault.verdict, fault.layer, fault.message, stands.seq
    return facts, replace(stands, seeds=table.match.seeds), stands.seeds.known


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("signed", [False, True], ids=["unsigned", "signed"])
@pytest.mark.parametrize("chained", [True, False], ids=["chained anew", "chain broken"])
def test_both_ways_refuse_the_same(name: str, signed: bool, chained: bool) -> None:
    table = TABLES[signed]
    seq = next(seq for seq, record in enumerate(table.records) if len(record.seals) == 2)
    bad = Record()
    bad.CopyFrom(shut(table, None)[seq])
    BAD[name](bad)
    assert bad != table.records[seq]
    if chained:
        before = table.records[seq - 1].hash
        seals = [(seal.audience, seal.epoch, seal.commitment) for seal in bad.seals]
        bad.hash = hashing.chain_hash(table.match.match_id, seq, before, bad.body, seals)
    short = outcome(table, seq, bad)
    with long_way():
        assert outcome(table, seq, bad) == short


TABLES = {
    False: Table(3, immediate=True, name="shut, and bad").play(12),
    True: Table(3, signing=EVERYBODY, name="shut, signed, and bad").play(12),
}
