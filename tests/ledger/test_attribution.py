"""Who did what: the verifier gives each record to a key, to a seat without one, to a timer or to the table."""

from __future__ import annotations

import pytest
from sixledger.ledger import file, keys
from sixledger.ledger.clocks import FIRST_LEGAL
from sixledger.ledger.verify import verify, verify_records
from sixledger.v1 import record_pb2
from sixledger.v1 import replay_service_pb2 as pb
from support.ledgers import COMMIT_REVEAL, KEYS, SERVER_ONLY, Table, head, heads, rechain


def _all(found: pb.Attribution) -> list[int]:
    """The numbers of all records, whoever caused them."""
    numbers = [*found.table, *found.timers]
    for holder in found.holders:
        numbers += [*holder.signed_records, *holder.sealed_records]
        numbers += [*holder.unsigned_records, *holder.timer_records]
    return sorted(numbers)


def _body(table: Table, seq: int) -> record_pb2.Body:
    return record_pb2.Body.FromString(table.records[seq].body)


@pytest.fixture(scope="module")
def mixed() -> Table:
    """Seat 0 signs, seat 1 does not, seat 2 is the operator's; a pause; and a timer played once for seat 0."""
    clock = record_pb2.Clock(turn_us=60_000_000)
    table = Table(3, mode=SERVER_ONLY, signing=frozenset({0}), name="mixed", clock=clock, policy=FIRST_LEGAL, at=0)
    table.join(0)
    table.join(1)
    table.join(2, hosted=True)
    table.act(table.command(1, table.game.legal(table.match.state, 1)[0]))
    table.act(table.command(2, table.game.legal(table.match.state, 2)[0]))
    table.fire()  # for seat 0
    table.at = 61_000_000
    table.pause()
    table.resume()
    return table.play()


def test_every_record_is_given_to_someone_and_each_signature_to_its_key(mixed: Table) -> None:
    report = verify(mixed.file(), trusted=KEYS)
    found = report.attribution
    assert report.verdict == pb.VERDICT_VALID
    assert _all(found) == list(range(len(mixed.records)))
    assert found.record_count == len(mixed.records)
    signer, plain, hosted = found.holders
    assert (signer.seat, signer.since, signer.public_key) == (0, 1, mixed.public_key(0))
    assert signer.key_id == keys.key_id(mixed.public_key(0))
    assert signer.signed_records
    assert not signer.unsigned_records
    assert not signer.sealed_records
    assert [(plain.public_key, plain.key_id, plain.hosted), bool(plain.unsigned_records)] == [(b"", b"", False), True]
    assert hosted.hosted
    assert hosted.unsigned_records
    assert not [*plain.signed_records, *hosted.signed_records]
    for holder in found.holders:
        for seq in [*holder.signed_records, *holder.unsigned_records, *holder.timer_records]:
            assert _body(mixed, seq).cause.seat == holder.seat


def test_what_a_timer_played_is_no_act_of_the_seat(mixed: Table) -> None:
    found = verify(mixed.file(), trusted=KEYS).attribution
    timer = next(seq for seq in range(len(mixed.records)) if _body(mixed, seq).cause.HasField("timer"))
    assert list(found.holders[0].timer_records) == [timer]
    assert list(found.table) == [0, timer + 1, timer + 2]


def test_a_deadline_of_the_whole_table_is_of_no_seat() -> None:
    table = Table(2, name="nobody", clock=record_pb2.Clock(join_us=1_000_000), at=0)
    table.join(1)
    table.fire()
    found = verify(table.file(), trusted=KEYS).attribution
    assert (list(found.table), list(found.timers), list(found.holders[0].unsigned_records)) == ([0], [2], [1])


def test_a_signature_that_is_sealed_for_the_viewer_is_not_called_checked() -> None:
    table = Table(2, mode=COMMIT_REVEAL, signing=frozenset({0, 1}), contributing=frozenset({0, 1}), name="sealed")
    table.start()
    for seat in (0, 1):
        table.act(table.command(seat, table.game.legal(table.match.state, seat)[0]))
    first = len(table.records) - 2
    own = verify(file.dump(table.records, table.heads(), KEYS, viewer="seat:0"), trusted=KEYS).attribution
    assert list(own.holders[0].sealed_records) == []
    assert first in own.holders[0].signed_records
    assert list(own.holders[1].sealed_records) == [first + 1]
    nobody = verify(file.dump(table.records, table.heads(), KEYS, viewer="spectator"), trusted=KEYS).attribution
    assert [list(holder.sealed_records) for holder in nobody.holders] == [[first], [first + 1]]


def test_a_seat_that_changed_hands_has_two_holders() -> None:
    table = Table(2, signing=frozenset({0, 1}), name="hands")
    table.join(0)
    table.leave(0)
    table.signing = frozenset({1})
    table.join(0)
    table.join(1)
    found = verify(table.play().file(), trusted=KEYS).attribution
    first, second = (holder for holder in found.holders if holder.seat == 0)
    assert (list(first.signed_records), bool(first.public_key)) == ([1, 2], True)
    assert (second.since, second.public_key, second.unsigned_records[0]) == (3, b"", 3)


def test_a_match_that_starts_at_once_has_seats_without_keys() -> None:
    table = Table(2, immediate=True, name="immediate").play()
    found = verify_records(table.records, table.heads(), trusted=KEYS).attribution
    assert [(holder.since, holder.public_key) for holder in found.holders] == [(0, b""), (0, b"")]
    assert _all(found) == list(range(len(table.records)))


def test_of_a_bad_ledger_only_what_comes_before_the_first_bad_record_is_attributed(mixed: Table) -> None:
    bad = list(mixed.records)
    body = _body(mixed, 9)
    body.time_us += 1
    bad[9] = record_pb2.Record(
        body=body.SerializeToString(), seals=bad[9].seals, openings=bad[9].openings, hash=bad[9].hash
    )
    broken = verify_records(bad, mixed.heads(), trusted=KEYS)
    assert (broken.finding.seq, broken.attribution.record_count) == (9, 9)
    assert _all(broken.attribution) == list(range(9))
    chained = rechain(bad)  # the chain fits again; what seat 0 signed before record 9 still counts
    lied = verify_records(chained, heads(chained), trusted=KEYS)
    assert lied.finding.HasField("seq")
    assert lied.attribution.record_count == lied.finding.seq


def test_a_forged_signature_ends_what_is_attributed() -> None:
    """Though the heads are the first thing that is wrong with the ledger: the chain alone attributes nothing."""
    table = Table(2, signing=frozenset({0, 1}), name="forged").play(4)
    bad = [record_pb2.Record.FromString(record.SerializeToString()) for record in table.records]
    body = record_pb2.Body.FromString(bad[1].body)
    body.cause.signature = bytes(64)
    bad[1].body = body.SerializeToString(deterministic=True)
    bad = rechain(bad)
    report = verify_records(bad, [head(bad, 3), table.heads()[-1]], trusted=KEYS)
    assert (report.finding.layer, report.finding.seq) == ("heads", 3)
    assert report.attribution.record_count == 1


def test_of_what_is_no_opening_nothing_is_attributed() -> None:
    table = Table(2, name="none").play(2)
    assert not verify_records(table.records[1:], trusted=KEYS).HasField("attribution")
