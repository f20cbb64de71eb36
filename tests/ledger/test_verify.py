"""Every verdict, from an honest ledger and from lying authors who sign what they forged."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sixledger.engine.nimmt import GAME
from sixledger.engine.registry import Registry
from sixledger.ledger import hashing, records
from sixledger.ledger.faults import LedgerFault, UnusableInput
from sixledger.ledger.folding import fold
from sixledger.ledger.verify import exit_status, verify, verify_records
from sixledger.v1 import record_pb2
from sixledger.v1.replay_service_pb2 import Verdict, VerifyReport
from support import ledgers
from support.ledgers import (
    COMMIT_REVEAL,
    KEYS,
    OTHER_SIGNER,
    SEATS,
    SERVER_ONLY,
    SIGNER,
    Table,
    find,
    forge,
    forge_secret,
)

BOTH = frozenset({0, 1})


@pytest.fixture(scope="module")
def table() -> Table:
    """A finished match of one round: both seats sign and contribute."""
    return Table(mode=COMMIT_REVEAL, signing=BOTH, contributing=BOTH).play()


@pytest.fixture(scope="module")
def unsigned() -> Table:
    """A finished match of two rounds whose seats do not sign."""
    return Table(options=ledgers.rounds(2), name="unsigned").play()


def verdict(report: VerifyReport) -> str:
    return Verdict.Name(report.verdict).removeprefix("VERDICT_")


def judge(records_: Any, **options: Any) -> VerifyReport:
    """The report on records that the origin signed."""
    return verify_records(records_, ledgers.heads(records_), trusted=KEYS, **options)


def paths(report: VerifyReport) -> list[str]:
    return [difference.path for difference in report.finding.differences]


# -- valid and incomplete ------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [COMMIT_REVEAL, SEATS, SERVER_ONLY])
@pytest.mark.parametrize("signing", [frozenset(), frozenset({1}), BOTH])
def test_an_honest_ledger_is_valid(mode: Any, signing: frozenset[int]) -> None:
    contributing = frozenset() if mode == SERVER_ONLY else BOTH
    table = Table(mode=mode, signing=signing, contributing=contributing, name=f"{mode} {sorted(signing)}").play()
    report = verify(table.file(), trusted=KEYS)
    assert verdict(report) == "VALID", report.summary
    assert report.signer_authenticated
    assert list(report.winners) == list(GAME.outcome(table.match.state).winners)  # type: ignore[union-attr]
    assert not report.unchecked
    assert not report.HasField("finding")
    assert exit_status(report) == 0


def test_a_ledger_of_many_rounds_is_valid(unsigned: Table) -> None:
    report = judge(unsigned.records)
    assert (verdict(report), report.record_count) == ("VALID", len(unsigned.records))


@pytest.mark.parametrize("seats", [2, 3, 10])
def test_a_match_started_in_record_0_is_valid(seats: int) -> None:
    report = judge(Table(seats=seats, immediate=True, name=f"immediate {seats}").play().records)
    assert verdict(report) == "VALID"
    assert "operator alone" in report.fairness


@pytest.mark.parametrize("commands", [1, 7])
def test_a_resigned_match_is_valid(commands: int) -> None:
    table = Table(mode=COMMIT_REVEAL, signing=BOTH, contributing=frozenset({0})).play(commands)
    table.resign(1)
    report = judge(table.records)
    assert (verdict(report), list(report.winners)) == ("VALID", [0])
    assert "seat 0 of 2" in report.fairness


def test_an_aborted_match_is_valid_before_and_after_the_start() -> None:
    before = Table()
    before.join(0)
    before.abort()
    after = Table().play(3)
    after.abort()
    for table in (before, after):
        report = judge(table.records)
        assert (verdict(report), list(report.winners)) == ("VALID", [])


@pytest.mark.parametrize("viewer", ["operator", "spectator", "seat:0", "seat:1"])
def test_a_running_match_is_incomplete_and_says_where(viewer: str) -> None:
    table = Table(options=ledgers.rounds(3), mode=COMMIT_REVEAL, signing=BOTH, contributing=BOTH).play(28)
    report = verify(table.file(viewer=viewer), trusted=KEYS)
    assert verdict(report) == "INCOMPLETE", report.summary
    assert (exit_status(report), exit_status(report, partial=True)) == (1, 0)
    dealt = find(table.records, "pack_shuffled", skip=1)
    expected = str(dealt) if viewer == "operator" else f"{dealt}–{len(table.records) - 1}"
    assert expected in report.unchecked[0]
    assert "not ended" in report.unchecked[1]


def test_before_the_start_every_record_is_replayed() -> None:
    table = Table(mode=COMMIT_REVEAL, contributing=BOTH)
    table.join(0)
    report = judge(table.records)
    assert (verdict(report), len(report.unchecked)) == ("INCOMPLETE", 1)


def test_the_signer_is_authenticated_by_a_trusted_key_alone(table: Table) -> None:
    report = verify(table.file())
    assert (verdict(report), report.signer_authenticated) == ("VALID", False)
    assert "unauthenticated" in report.summary


def test_an_unsigned_ledger_in_memory_is_valid_and_says_so(table: Table) -> None:
    report = verify_records(table.records)
    assert (verdict(report), report.signer_authenticated) == ("VALID", False)
    assert "no signed head" in report.summary


def test_what_is_no_ledger_is_unusable() -> None:
    for data in (
        b"",
        b"\n",
        b"hello\n",
        b"{}\n",
        b'{"format":"something/1"}\n',
        b"\x1f\x8b",
        b"\x1f\x8bgarbage",
        b"\xff" * 99,
    ):
        with pytest.raises(UnusableInput):
            verify(data)
    with pytest.raises(UnusableInput):
        verify("no/such/file.ledger.jsonl")
    with pytest.raises(UnusableInput):
        verify_records([])


# -- the chain -----------------------------------------------------------------------------------


def test_records_duplicated_reordered_dropped_or_inserted_are_tampering(table: Table) -> None:
    kept = table.records
    stranger = Table(name="stranger").play().records[5]
    for changed, first_bad in (
        ([*kept[:5], kept[4], *kept[5:]], 5),
        ([*kept[:4], kept[5], kept[4], *kept[6:]], 4),
        ([*kept[:4], *kept[5:]], 4),
        ([*kept[:5], stranger, *kept[5:]], 5),
        (kept[1:], 0),
    ):
        report = judge(changed)
        assert (verdict(report), report.finding.seq, report.finding.layer) == ("TAMPERED", first_bad, "chain")


def test_a_changed_byte_is_found_in_its_record(table: Table) -> None:
    forged = ledgers.copies(table.records)
    forged[7].body = forged[7].body[:-1] + bytes([forged[7].body[-1] ^ 1])
    report = judge(forged)
    assert (verdict(report), report.finding.seq) == ("TAMPERED", 7)
    assert report.last_good.seq == 6


def test_a_chain_made_anew_without_the_key_is_tampering_after_the_last_fitting_head(table: Table) -> None:
    heads = ledgers.heads(table.records, 4, 9, 12)
    forged = forge(table.records, 10, lambda body: setattr(body, "time_us", body.time_us + 1))
    report = verify_records(forged, heads, trusted=KEYS)
    assert (verdict(report), report.finding.seq, report.finding.layer) == ("TAMPERED", 9, "heads")
    assert (report.last_good.seq, report.last_good.head) == (8, heads[1])


def test_a_clock_that_runs_backwards_is_tampering(table: Table) -> None:
    report = judge(forge(table.records, 6, lambda body: setattr(body, "time_us", 5)))
    assert (verdict(report), report.finding.seq, report.finding.layer) == ("TAMPERED", 6, "clocks")


def test_a_time_after_the_year_9999_is_tampering(table: Table) -> None:
    report = verify_records(forge(table.records, len(table.records) - 1, lambda body: setattr(body, "time_us", 2**63)))
    assert (verdict(report), report.finding.layer) == ("TAMPERED", "clocks")


def test_unknown_fields_are_tampering(unsigned: Table) -> None:
    seq = find(unsigned.records, "row_taken")

    def add(record: record_pb2.Record) -> None:
        record.body += b"\xf8\x07\x01"  # field 127

    report = judge(ledgers.forge(unsigned.records, seq, None, add))
    assert (verdict(report), report.finding.seq, report.finding.layer) == ("TAMPERED", seq, "parse")


# -- heads ---------------------------------------------------------------------------------------


def test_a_head_by_another_key_is_a_bad_signature(table: Table) -> None:
    heads = ledgers.heads(table.records, signer=OTHER_SIGNER)
    for keys in ((), [OTHER_SIGNER.verifier_key]):
        report = verify_records(table.records, heads, keys=keys, trusted=KEYS)
        assert (verdict(report), report.finding.layer) == ("BAD_SIGNATURE", "heads")
        assert not report.signer_authenticated


def test_two_heads_of_one_count_that_differ_are_equivocation(table: Table) -> None:
    fork = forge(table.records, 9, lambda body: setattr(body, "time_us", body.time_us + 1))
    heads = [ledgers.head(table.records, 10), ledgers.head(fork, 10)]
    report = verify_records(table.records[:10], heads, trusted=KEYS)
    assert (verdict(report), report.finding.seq) == ("EQUIVOCATION", 9)


def test_heads_of_two_histories_are_equivocation(table: Table) -> None:
    fork = forge(table.records, 9, lambda body: setattr(body, "time_us", body.time_us + 1))
    report = verify_records(table.records, [ledgers.head(fork, 12), *table.heads(5)], trusted=KEYS)
    assert (verdict(report), report.finding.seq) == ("EQUIVOCATION", 5)


def test_a_receipt_that_the_file_contradicts_is_equivocation(table: Table) -> None:
    fork = forge(table.records, 9, lambda body: setattr(body, "time_us", body.time_us + 1))
    report = verify(table.file(), trusted=KEYS, receipts=[ledgers.head(fork, 12)])
    assert verdict(report) == "EQUIVOCATION"
    assert verdict(verify(table.file(), trusted=KEYS, receipts=table.heads(12))) == "VALID"


def test_a_ledger_shorter_than_a_receipt_is_truncated(table: Table) -> None:
    report = verify_records(table.records[:-2], table.heads(3), trusted=KEYS)
    assert (verdict(report), report.finding.seq) == ("TRUNCATED", len(table.records) - 2)


def test_a_file_cut_anywhere_is_truncated(table: Table) -> None:
    lines = table.file(5).splitlines(keepends=True)
    for kept in (1, 4, len(lines) - 2, len(lines) - 1):
        assert verdict(verify(b"".join(lines[:kept]))) == "TRUNCATED"
    assert verdict(verify(b"".join(lines)[:-1])) == "TRUNCATED"


def test_a_head_of_another_match_is_tampering(table: Table) -> None:
    other = Table(name="other").play(1)
    report = verify_records(table.records, other.heads(), trusted=KEYS)
    assert (verdict(report), report.finding.layer) == ("TAMPERED", "heads")


# -- openings ------------------------------------------------------------------------------------


def test_an_opening_that_is_missing_or_changed_or_repeated_is_bad(unsigned: Table) -> None:
    seq = find(unsigned.records, "chosen")

    def drop(record: record_pb2.Record) -> None:
        del record.openings[0]

    def change(record: record_pb2.Record) -> None:
        record.openings[0].value += b"\x00"

    def change_salt(record: record_pb2.Record) -> None:
        record.openings[0].salt = record.openings[0].salt[:-1]

    def repeat(record: record_pb2.Record) -> None:
        record.openings.append(record.openings[0])

    def unknown(record: record_pb2.Record) -> None:
        record.openings[-1].seal = 9

    for lie in (drop, change, change_salt, repeat, unknown):
        forged = ledgers.copies(unsigned.records)
        lie(forged[seq])
        report = judge(forged)
        assert (verdict(report), report.finding.seq) == ("BAD_OPENING", seq), lie.__name__


def test_an_opening_that_the_viewer_may_not_have_is_bad(unsigned: Table) -> None:
    running = Table(options=ledgers.rounds(2), name="unsigned").play(12)
    redacted = [records.redact(record, None, 0) for record in running.records]
    assert verdict(judge(redacted)) == "INCOMPLETE"
    first, other = (find(running.records, "chosen", skip=skip) for skip in (0, 1))
    redacted[first] = running.records[first]
    assert verdict(judge(redacted)) == "BAD_OPENING"
    assert judge(redacted).finding.seq in range(other + 1)


def test_a_header_that_names_a_stronger_viewer_is_a_bad_opening(table: Table) -> None:
    forged = table.file().replace(b'"viewer":"spectator"', b'"viewer":"operator"')
    assert verdict(verify(forged)) == "BAD_OPENING"


def test_a_seal_for_other_seats_is_tampering(unsigned: Table) -> None:
    seq = find(unsigned.records, "chosen")
    for field, value in (("audience", 3), ("epoch", 2)):

        def lie(record: record_pb2.Record, field: str = field, value: int = value) -> None:
            setattr(record.seals[0], field, value)

        forged = forge(unsigned.records, seq, None, lie)
        report = judge(forged)
        assert (verdict(report), report.finding.layer) in (("TAMPERED", "openings"), ("BAD_OPENING", "openings"))
        assert report.finding.seq == seq


# -- seeds and deals -----------------------------------------------------------------------------


def test_a_deal_that_the_seed_does_not_give_is_a_seed_mismatch(unsigned: Table) -> None:
    for skip in (0, 1):
        seq = find(unsigned.records, "pack_shuffled", skip=skip)
        facts = records.read(unsigned.records[seq], GAME.schema)
        pack = next(i for i, event in enumerate(facts.events) if event.DESCRIPTOR.name == "PackShuffled")

        def swap(event: Any) -> None:
            order = event.nimmt.pack_shuffled.order
            order[0], order[1] = order[1], order[0]

        report = judge(forge_secret(unsigned.records, seq, facts.owners.index(pack), swap))
        assert (verdict(report), report.finding.seq) == ("SEED_MISMATCH", seq)
        assert paths(report) == [f"events[{pack}].PackShuffled.order[0]", f"events[{pack}].PackShuffled.order[1]"]


def test_a_hand_that_is_not_the_dealt_one_diverges_from_the_rules(unsigned: Table) -> None:
    seq = find(unsigned.records, "hand_dealt")
    facts = records.read(unsigned.records[seq], GAME.schema)
    hand = next(i for i, event in enumerate(facts.events) if event.DESCRIPTOR.name == "HandDealt")

    def change(event: Any) -> None:
        cards = event.nimmt.hand_dealt.cards
        cards[0] = next(card for card in range(1, 105) if card not in cards)

    report = judge(forge_secret(unsigned.records, seq, facts.owners.index(hand), change))
    assert (verdict(report), report.finding.seq) == ("RULES_DIVERGENCE", seq)


def test_a_wrong_reveal_is_a_seed_mismatch(unsigned: Table) -> None:
    seq = len(unsigned.records) - 1
    report = judge(forge(unsigned.records, seq, lambda body: setattr(body.reveals[0], "chain", bytes(32))))
    assert (verdict(report), report.finding.seq, report.finding.layer) == ("SEED_MISMATCH", seq, "seeds")


@pytest.mark.parametrize("epoch", [0, 1, 9, 2**31])
def test_a_reveal_of_a_wrong_epoch_is_a_seed_mismatch(unsigned: Table, epoch: int) -> None:
    report = judge(forge(unsigned.records, len(unsigned.records) - 1, lambda b: setattr(b.reveals[0], "epoch", epoch)))
    assert verdict(report) == "SEED_MISMATCH"


def test_an_epoch_that_is_not_revealed_when_it_ends_is_tampering(unsigned: Table) -> None:
    seq = find(unsigned.records, "pack_shuffled", skip=1)
    for at in (seq, len(unsigned.records) - 1):
        report = verify_records(forge(unsigned.records, at, lambda body: body.ClearField("reveals")))
        assert (verdict(report), report.finding.layer) in (("TAMPERED", "seeds"), ("RULES_DIVERGENCE", "rules"))
        assert report.finding.seq == at


def test_a_wrong_entropy_is_a_seed_mismatch(unsigned: Table) -> None:
    def lie(body: record_pb2.Body) -> None:
        body.lifecycle[-1].sealed.entropy = bytes(32)

    seq = find(unsigned.records, "match_started")
    report = judge(forge(unsigned.records, seq, lie))
    assert (verdict(report), report.finding.seq, report.finding.layer) == ("SEED_MISMATCH", seq, "seeds")


def test_a_contribution_that_does_not_fit_its_commitment_is_a_seed_mismatch() -> None:
    table = Table(mode=COMMIT_REVEAL, contributing=BOTH).play(1)
    seq = next(n for n, r in enumerate(table.records) if b"\x2a\x24" in r.body and _step(r) == "contributed")

    def lie(body: record_pb2.Body) -> None:
        body.lifecycle[0].contributed.contribution = bytes(32)

    report = judge(forge(table.records, seq, lie))
    assert (verdict(report), report.finding.seq) == ("SEED_MISMATCH", seq)


def _step(record: record_pb2.Record) -> str | None:
    steps = record_pb2.Body.FromString(record.body).lifecycle
    return steps[0].WhichOneof("step") if steps else None


# -- rules ---------------------------------------------------------------------------------------


def _played(table: Table, skip: int = 0) -> int:
    return find(table.records, "chosen", skip=skip)


def _set_card(card: int) -> Any:
    def change(sealed: record_pb2.SealedCommand) -> None:
        command = GAME.schema.read_command(sealed.command)
        command.card = card
        sealed.command = GAME.schema.commands.pack(command).SerializeToString()

    return change


def test_a_card_that_is_not_in_the_hand_is_an_illegal_command(unsigned: Table) -> None:
    seq = _played(unsigned, 3)
    seat = record_pb2.Body.FromString(unsigned.records[seq].body).cause.seat
    hand = unsigned.matches[seq - 1].state.hands[seat]
    card = next(card for card in range(1, 105) if card not in hand)
    report = judge(forge_secret(unsigned.records, seq, 0, _set_card(card)))
    assert (verdict(report), report.finding.seq, report.finding.layer) == ("ILLEGAL_COMMAND", seq, "rules")
    assert report.finding.seat == seat
    assert "not_in_hand" in report.finding.message
    assert json.loads(report.finding.position_json)["decision"] == "2"
    assert report.last_good.seq == seq - 1
    assert report.last_good.head


def test_a_card_that_the_match_does_not_have_is_an_illegal_command(unsigned: Table) -> None:
    report = judge(forge_secret(unsigned.records, _played(unsigned), 0, _set_card(200)))
    assert verdict(report) == "ILLEGAL_COMMAND"


def test_a_command_for_another_decision_or_seat_or_time_is_an_illegal_command(unsigned: Table) -> None:
    seq = _played(unsigned, 2)

    def later(body: record_pb2.Body) -> None:
        body.cause.decision += 1

    def again(body: record_pb2.Body) -> None:
        first = record_pb2.Body.FromString(unsigned.records[_played(unsigned)].body).cause
        body.cause.request_id, body.cause.seat = first.request_id, first.seat

    for lie in (later, again):
        report = judge(forge(unsigned.records, seq, lie))
        assert (verdict(report), report.finding.seq) == ("ILLEGAL_COMMAND", seq), lie.__name__


def test_an_act_in_a_wrong_phase_is_an_illegal_command(unsigned: Table) -> None:
    joined = ledgers.copies(unsigned.records[1:2])[0]
    body = record_pb2.Body.FromString(joined.body)
    body.cause.request_id = bytes(16)
    body.time_us = record_pb2.Body.FromString(unsigned.records[-1].body).time_us
    joined.body = body.SerializeToString()
    report = judge(ledgers.rechain([*unsigned.records, joined]))
    assert (verdict(report), report.finding.seq) == ("ILLEGAL_COMMAND", len(unsigned.records))


def test_false_points_diverge_from_the_rules(unsigned: Table) -> None:
    seq = find(unsigned.records, "round_scored")

    def lie(body: record_pb2.Body) -> None:
        for event in body.events:
            if event.nimmt.HasField("round_scored"):
                event.nimmt.round_scored.points[1] += 1

    report = judge(forge(unsigned.records, seq, lie))
    assert (verdict(report), report.finding.seq) == ("RULES_DIVERGENCE", seq)
    (difference,) = report.finding.differences
    assert difference.path.endswith("RoundScored.points[1]")
    assert int(difference.recorded) == int(difference.expected) + 1


def test_an_event_too_many_or_too_few_diverges_from_the_rules(unsigned: Table) -> None:
    seq = find(unsigned.records, "turn_ended")

    def more(body: record_pb2.Body) -> None:
        body.events.add().nimmt.turn_ended.turn = 3

    def less(body: record_pb2.Body) -> None:
        del body.events[-1]

    for lie in (more, less):
        report = judge(forge(unsigned.records, seq, lie))
        assert (verdict(report), report.finding.seq) == ("RULES_DIVERGENCE", seq), lie.__name__
        assert "(absent)" in (report.finding.differences[0].recorded, report.finding.differences[0].expected)


def test_a_false_winner_diverges_from_the_rules(unsigned: Table) -> None:
    def lie(body: record_pb2.Body) -> None:
        ended = body.events[-1].nimmt.match_ended
        ended.winners[0] = 1 - ended.winners[0]

    report = judge(forge(unsigned.records, len(unsigned.records) - 1, lie))
    assert verdict(report) == "RULES_DIVERGENCE"
    assert paths(report)[0].endswith("MatchEnded.winners[0]")


def test_another_step_in_the_life_of_the_match_diverges_from_the_rules(unsigned: Table) -> None:
    def lie(body: record_pb2.Body) -> None:
        body.lifecycle.add().resigned.seat = 1

    report = judge(forge(unsigned.records, _played(unsigned), lie))
    assert (verdict(report), paths(report)) == ("RULES_DIVERGENCE", ["lifecycle[0]"])


def test_another_encoding_of_the_same_record_is_valid(unsigned: Table) -> None:
    """Protobuf is not canonical: the meaning of the hashed bytes counts."""

    def rewrite(record: record_pb2.Record) -> None:
        body = record_pb2.Body.FromString(record.body)
        last = record_pb2.Body(format=body.format)
        body.ClearField("format")
        record.body = body.SerializeToString() + last.SerializeToString()

    forged = ledgers.copies(unsigned.records)
    rewrite(forged[-1])
    body = record_pb2.Body.FromString(forged[-1].body)
    forged[-1].hash = hashing.record_hash(body.match_id, body.seq, forged[-2].hash, forged[-1].body, forged[-1].seals)
    assert forged[-1] != unsigned.records[-1]
    assert verdict(judge(forged)) == "VALID"


# -- lies about what cannot be replayed ----------------------------------------------------------


@pytest.fixture(scope="module")
def running() -> Table:
    """A match in its second round."""
    return Table(options=ledgers.rounds(3), name="running", signing=frozenset({1})).play(26)


def _as(table: Table, forged: list[record_pb2.Record], viewer: int | None) -> VerifyReport:
    return judge([records.redact(record, viewer, table.match.revealed) for record in forged])


def test_lies_in_the_open_part_of_a_running_match_are_found_by_spectators(running: Table) -> None:
    dealt = find(running.records, "pack_shuffled", skip=1)
    chosen = next(n for n in range(dealt + 1, len(running.records)) if _names(running.records[n]) == ["chosen"])

    def hand(body: record_pb2.Body) -> None:
        next(e for e in body.events if e.nimmt.HasField("round_started")).nimmt.round_started.hand_size = 9

    def row(body: record_pb2.Body) -> None:
        body.events.add().nimmt.row_taken.row = 9

    def decision(body: record_pb2.Body) -> None:
        body.cause.decision += 1

    def stranger(body: record_pb2.Body) -> None:
        body.cause.seat = 60

    for seq, lie, expected in (
        (dealt, hand, "RULES_DIVERGENCE"),
        (chosen, row, "TAMPERED"),
        (chosen, decision, "ILLEGAL_COMMAND"),
        (chosen, stranger, "ILLEGAL_COMMAND"),
    ):
        report = _as(running, forge(running.records, seq, lie), None)
        assert (verdict(report), report.finding.seq) == (expected, seq), (lie.__name__, report.summary)


def test_lies_in_a_record_0_whose_deal_is_sealed_are_found() -> None:
    table = Table(seats=3, immediate=True, name="sealed start").play(2)

    def players(body: record_pb2.Body) -> None:
        body.events[0].nimmt.match_started.players = 2**32 - 1

    def closed(body: record_pb2.Body) -> None:
        body.lifecycle[1].closed.seats[0].contributes = True

    def entropy(body: record_pb2.Body) -> None:
        body.lifecycle[2].sealed.entropy = bytes(32)

    def decision(body: record_pb2.Body) -> None:
        body.cause.decision = 1

    for lie, expected in (
        (players, "RULES_DIVERGENCE"),
        (closed, "RULES_DIVERGENCE"),
        (entropy, "SEED_MISMATCH"),
        (decision, "RULES_DIVERGENCE"),
    ):
        for viewer in (None, 1):
            report = _as(table, forge(table.records, 0, lie), viewer)
            assert (verdict(report), report.finding.seq) == (expected, 0), lie.__name__


def test_nothing_but_commands_follows_the_start_of_a_running_match(running: Table) -> None:
    """Neither a seat taken again, with another key, nor a contribution that comes too late."""
    late = record_pb2.Body.FromString(running.records[-1].body)
    late.ClearField("command")
    late.ClearField("events")
    late.cause.ClearField("decision")
    late.cause.request_id = bytes(16)
    for step in (
        record_pb2.Lifecycle(joined=record_pb2.SeatJoined(seat=0, public_key=running.public_key(1))),
        record_pb2.Lifecycle(committed=record_pb2.ContributionCommitted(seat=0, commitment=bytes(32))),
        record_pb2.Lifecycle(contributed=record_pb2.ContributionRevealed(seat=0, contribution=bytes(32))),
        record_pb2.Lifecycle(closed=record_pb2.SeatsClosed()),
        record_pb2.Lifecycle(sealed=record_pb2.EntropySealed()),
        record_pb2.Lifecycle(aborted=record_pb2.Aborted()),
    ):
        late.cause.seat = 0
        late.ClearField("lifecycle")
        late.lifecycle.append(step)
        forged = ledgers.rechain([*running.records, record_pb2.Record(body=late.SerializeToString())])
        for viewer in (None, 0):
            report = _as(running, forged, viewer)
            assert verdict(report) not in ("VALID", "INCOMPLETE"), step
            assert report.finding.seq == len(running.records)
        match = fold(running.records)
        with pytest.raises(LedgerFault):
            match.apply(forged[-1], check_signatures=False)


def _names(record: record_pb2.Record) -> list[str | None]:
    return [event.nimmt.WhichOneof("event") for event in record_pb2.Body.FromString(record.body).events]


def test_a_seat_checks_its_own_commands_in_a_running_match(running: Table) -> None:
    for seat in (0, 1):
        seq = max(
            n
            for n, record in enumerate(running.records)
            if "chosen" in _names(record) and record_pb2.Body.FromString(record.body).cause.seat == seat
        )
        hand = running.matches[seq - 1].state.hands[seat]
        card = next(card for card in range(1, 105) if card not in hand)
        forged = forge_secret(running.records, seq, 0, _set_card(card))
        report = _as(running, forged, seat)
        assert (verdict(report), report.finding.seq) == (["ILLEGAL_COMMAND", "BAD_SIGNATURE"][seat], seq)
        # The other seat sees nothing of the lie itself; but the acts that it signed name the true history.
        assert verdict(_as(running, forged, 1 - seat)) == ["BAD_SIGNATURE", "INCOMPLETE"][seat]


# -- acts and rulesets ---------------------------------------------------------------------------


def test_a_signature_by_another_key_is_a_bad_signature(table: Table) -> None:
    seq = _played(table)

    def resign(sealed: record_pb2.SealedCommand) -> None:
        sealed.signature = table.key(0).sign(b"something else")

    def strip(sealed: record_pb2.SealedCommand) -> None:
        sealed.signature = b""

    for lie in (resign, strip):
        report = judge(forge_secret(table.records, seq, 0, lie))
        assert (verdict(report), report.finding.seq, report.finding.layer) == ("BAD_SIGNATURE", seq, "rules")


def test_a_signed_command_cannot_be_changed(table: Table) -> None:
    seq = _played(table, 1)
    seat = record_pb2.Body.FromString(table.records[seq].body).cause.seat
    other = table.matches[seq - 1].state.hands[seat][-1]
    if table.matches[seq].state.hands[seat] and other in table.matches[seq].state.hands[seat]:
        assert verdict(judge(forge_secret(table.records, seq, 0, _set_card(other)))) == "BAD_SIGNATURE"


def test_every_signed_step_before_the_start_is_checked(table: Table) -> None:
    steps = {_step(record): seq for seq, record in enumerate(table.records) if seq and _step(record)}
    assert set(steps) >= {"joined", "committed", "contributed"}
    for name, seq in steps.items():

        def lie(body: record_pb2.Body) -> None:
            body.cause.signature = bytes(64)

        report = judge(forge(table.records, seq, lie))
        assert (verdict(report), report.finding.seq) == ("BAD_SIGNATURE", seq), name


def test_a_key_that_fits_everything_is_refused(unsigned: Table) -> None:
    def lie(body: record_pb2.Body) -> None:
        body.lifecycle[0].joined.public_key = bytes([1]) + bytes(31)

    report = judge(forge(unsigned.records, 1, lie))
    assert (verdict(report), report.finding.seq) == ("ILLEGAL_COMMAND", 1)
    assert "small order" in report.finding.message


def test_rules_that_this_build_does_not_have_are_an_unknown_ruleset(unsigned: Table) -> None:
    assert verdict(judge(unsigned.records, registry=Registry([]))) == "UNKNOWN_RULESET"
    for field, value in (("version", 99), ("id", "chess"), ("digest", bytes(32))):

        def lie(body: record_pb2.Body, field: str = field, value: Any = value) -> None:
            setattr(body.lifecycle[0].opened.ruleset, field, value)

        report = judge(forge(unsigned.records, 0, lie))
        assert (verdict(report), report.finding.seq) == ("UNKNOWN_RULESET", 0), field


def test_a_broken_chain_comes_before_an_unknown_ruleset(unsigned: Table) -> None:
    report = judge(unsigned.records[:3] + unsigned.records[4:], registry=Registry([]))
    assert verdict(report) == "TAMPERED"


def test_record_0_must_state_a_possible_match(unsigned: Table) -> None:
    def opened(**fields: Any) -> Any:
        def lie(body: record_pb2.Body) -> None:
            for name, value in fields.items():
                setattr(body.lifecycle[0].opened, name, value)

        return lie

    for fields in ({"seats": 99}, {"seats": 0}, {"epochs": 7}, {"commitment": b"short"}, {"mode": 0}):
        report = judge(forge(unsigned.records, 0, opened(**fields)))
        assert (verdict(report), report.finding.seq) in (("TAMPERED", 0), ("BAD_OPENING", 0)), fields


def test_the_last_good_head_is_the_first_that_covers_the_record(unsigned: Table) -> None:
    seq = find(unsigned.records, "round_scored")
    forged = forge(unsigned.records, seq, lambda body: body.events.add().nimmt.turn_ended.SetInParent())
    heads = [ledgers.head(forged, count) for count in (3, seq, seq + 5, len(forged))]
    report = verify_records(forged, heads, trusted=KEYS)
    assert (report.finding.seq, report.last_good.seq) == (seq, seq - 1)
    assert report.last_good.head == heads[1]
    assert SIGNER.origin in report.last_good.head
