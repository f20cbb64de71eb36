"""The tracker believes an honest service and no other."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from google.protobuf.message import Message
from sixledger.client import errors
from sixledger.engine.nimmt import GAME
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.ledger import assembly, hashing, records
from sixledger.ledger.decide import decide
from sixledger.ledger.heads import HeadSigner
from sixledger.ledger.keys import ActKind
from sixledger.v1 import engine_service_pb2, match_service_pb2, record_pb2
from support.play import (
    COMMIT_REVEAL,
    IMPOSTOR,
    MATCH_ID,
    SIGNER,
    SIGNERS_KEY,
    START_US,
    TWO_ROUNDS,
    HonestTable,
    credentials,
)

Item = match_service_pb2.WatchRecord


@pytest.fixture(scope="module")
def played() -> HonestTable:
    """A finished match of two rounds, two seats."""
    return HonestTable(options=TWO_ROUNDS).start().play()


@pytest.mark.parametrize("viewer", [0, 1, None])
def test_an_honest_ledger_is_believed_and_its_view_is_the_service_s(played: HonestTable, viewer: int | None) -> None:
    table = HonestTable(options=TWO_ROUNDS).start()
    tracker = table.tracked(viewer)
    while not table.match.over:
        table.play(1, seed=len(table.records))
        item = table.shown(len(table.records) - 1, viewer, head=True)
        tracker.receive(item.record, item.late_openings, item.head)
        assert tracker.view() == GAME.view(table.match.state, viewer)
        if viewer is not None:
            assert tracker.legal() == GAME.legal(table.match.state, viewer)
    assert tracker.over
    assert tracker.outcome() == GAME.outcome(table.match.state)
    assert [recorded.record for recorded in tracker.received] == table.records  # every epoch is revealed


def test_late_openings_show_what_was_sealed(played: HonestTable) -> None:
    def cards(count: int) -> list[int]:
        commands = [recorded.facts.command for recorded in played.tracked(None, count).received]
        return [command.card for command in commands if isinstance(command, nimmt_pb2.SelectCard)]

    before, after = cards(revealing(played)), cards(revealing(played) + 1)
    assert before == [0] * (2 * 10 - 1)  # the last card of the round comes with the reveal
    assert len(after) == 2 * 10
    assert all(after)


# -- lies about records ------------------------------------------------------------------------------


def told(table: HonestTable, viewer: int | None, lie: Callable[[list[Item]], object]) -> None:
    """Show the whole match to a viewer, with a lie."""
    items = [table.shown(seq, viewer) for seq in range(len(table.records))]
    lie(items)
    tracker = table.tracker(viewer)
    for item in items:
        tracker.receive(item.record, item.late_openings, item.head)


def sealed(table: HonestTable, viewer: int, *, opened: bool) -> int:
    """A record with a seal that the viewer sees open, or not, on arrival."""
    return next(
        seq
        for seq in range(len(table.records))
        if (record := table.shown(seq, viewer).record).seals and (len(record.openings) == len(record.seals)) is opened
    )


def revealing(table: HonestTable) -> int:
    """The record that reveals the first epoch."""
    return table.revealed.index(1)


def rechain(table: HonestTable, item: Item) -> None:
    """Give a changed record the hash that fits it."""
    body = record_pb2.Body.FromString(item.record.body)
    previous = table.records[body.seq - 1].hash
    item.record.hash = hashing.record_hash(body.match_id, body.seq, previous, item.record.body, item.record.seals)


def edit(table: HonestTable, item: Item, change: Callable[[record_pb2.Body], object]) -> None:
    """Change the body of a record, and its hash so that it fits."""
    body = record_pb2.Body.FromString(item.record.body)
    change(body)
    item.record.body = body.SerializeToString(deterministic=True)
    rechain(table, item)


def test_a_changed_byte_breaks_the_chain(played: HonestTable) -> None:
    def lie(items: list[Item]) -> None:
        body = bytearray(items[9].record.body)
        body[-1] ^= 1
        items[9].record.body = bytes(body)

    with pytest.raises(errors.Tampered) as caught:
        told(played, 0, lie)
    assert caught.value.seq == 9


@pytest.mark.parametrize(
    "lie",
    [
        lambda items: items.pop(8),
        lambda items: items.insert(8, items[7]),
        lambda items: items.__setitem__(slice(8, 10), [items[9], items[8]]),
        lambda items: items.pop(0),
    ],
    ids=["drop", "repeat", "reorder", "begin late"],
)
def test_dropped_repeated_and_reordered_records_are_noticed(
    played: HonestTable, lie: Callable[[list[Item]], object]
) -> None:
    with pytest.raises(errors.Tampered):
        told(played, 0, lie)


def test_time_never_runs_backwards(played: HonestTable) -> None:
    with pytest.raises(errors.Tampered) as caught:
        told(played, 0, lambda items: edit(played, items[9], lambda body: setattr(body, "time_us", 5)))
    assert caught.value.layer == "clocks"


def test_a_ledger_of_another_match_is_refused(played: HonestTable) -> None:
    tracker = played.tracker(None)
    tracker.match_id = b"x" * 16
    with pytest.raises(errors.RewrittenHistory):
        tracker.receive(played.shown(0, None).record)


def test_rules_that_this_build_has_not_are_no_lie(played: HonestTable) -> None:
    item = played.shown(0, None)
    body = record_pb2.Body.FromString(item.record.body)
    body.lifecycle[0].opened.ruleset.version = 99
    item.record.body = body.SerializeToString(deterministic=True)
    with pytest.raises(errors.UnknownRuleset, match="nimmt@99"):
        played.tracker(None).receive(item.record)


# -- lies about openings -----------------------------------------------------------------------------


def test_an_own_opening_that_is_missing_is_noticed(played: HonestTable) -> None:
    seq = sealed(played, 0, opened=True)
    with pytest.raises(errors.BadOpening, match="missing") as caught:
        told(played, 0, lambda items: items[seq].record.openings.pop())
    assert caught.value.seq == seq


def test_an_opening_that_nobody_may_have_yet_is_noticed(played: HonestTable) -> None:
    seq = sealed(played, 0, opened=False)
    with pytest.raises(errors.BadOpening, match="must not be yet"):
        told(played, 0, lambda items: items[seq].record.CopyFrom(played.records[seq]))


@pytest.mark.parametrize("part", ["salt", "value"])
def test_an_opening_that_does_not_fit_its_seal_is_noticed(played: HonestTable, part: str) -> None:
    seq = sealed(played, 0, opened=True)
    with pytest.raises(errors.BadOpening):
        told(played, 0, lambda items: setattr(items[seq].record.openings[0], part, b"\x05" * 32))


@pytest.mark.parametrize(("part", "value"), [("audience", 3), ("epoch", 2)])
def test_a_seal_for_others_or_another_epoch_is_noticed(played: HonestTable, part: str, value: int) -> None:
    seq = sealed(played, 0, opened=True)

    def lie(items: list[Item]) -> None:
        setattr(items[seq].record.seals[0], part, value)
        rechain(played, items[seq])

    with pytest.raises(errors.Tampered) as caught:
        told(played, 0, lie)
    assert caught.value.layer == "openings"


@pytest.mark.parametrize("viewer", [0, None])
def test_every_late_opening_must_come_with_its_epoch(played: HonestTable, viewer: int | None) -> None:
    for lie in (
        lambda late: late.pop(),
        lambda late: late[-1].openings.pop(),
        lambda late: late.add(seq=0).openings.add(),
        lambda late: late.add(seq=999_999),
        lambda late: late.add(seq=0),
        lambda late: late.add().CopyFrom(late[0]),
        lambda late: late[0].openings.add().CopyFrom(late[0].openings[0]),
    ):
        with pytest.raises(errors.BadOpening, match="late openings"):
            told(played, viewer, lambda items, lie=lie: lie(items[revealing(played)].late_openings))  # type: ignore[misc]


def test_late_openings_must_fit_their_seals(played: HonestTable) -> None:
    def lie(items: list[Item]) -> None:
        late = items[revealing(played)].late_openings
        late[0].openings[0].value, late[1].openings[0].value = late[1].openings[0].value, late[0].openings[0].value

    with pytest.raises(errors.BadOpening) as caught:
        told(played, None, lie)
    assert caught.value.seq is not None
    assert caught.value.seq < revealing(played)


def test_an_epoch_revealed_without_its_openings_is_noticed(played: HonestTable) -> None:
    with pytest.raises(errors.BadOpening, match="late openings"):
        told(played, 0, lambda items: items[revealing(played)].ClearField("late_openings"))


# -- lies about seeds and contributions --------------------------------------------------------------


def test_a_revealed_seed_must_lead_to_the_commitment(played: HonestTable) -> None:
    seq = revealing(played)
    with pytest.raises(errors.SeedMismatch):
        told(
            played,
            0,
            lambda items: edit(played, items[seq], lambda body: setattr(body.reveals[0], "chain", b"\x01" * 32)),
        )


def test_the_entropy_must_follow_from_the_contributions() -> None:
    table = HonestTable().start()
    last = len(table.records) - 1

    def change(body: record_pb2.Body) -> None:
        body.lifecycle[1].sealed.entropy = b"\x01" * 32

    with pytest.raises(errors.SeedMismatch):
        told(table, 0, lambda items: edit(table, items[last], change))


def another_contribution(table: HonestTable) -> None:
    """The seat 0 that the service shows is not the one that joined."""
    table.players[0].contribution = b"\x09" * 32


@pytest.mark.parametrize("mode", [COMMIT_REVEAL, record_pb2.CONTRIBUTION_MODE_SEATS])
def test_the_own_contribution_must_stand_in_the_ledger_as_given(mode: record_pb2.ContributionMode.ValueType) -> None:
    table = HonestTable(mode=mode, sign=False).join()
    another_contribution(table)
    table.contribute()
    table.players[0] = credentials(0, sign=False)
    with pytest.raises(errors.ContributionIgnored):
        table.tracked(0)
    assert table.tracked(1).started  # the other seat cannot know


def test_a_game_that_starts_without_the_own_contribution_is_refused() -> None:
    table = HonestTable(contribute=False, sign=False).start()
    table.players[0] = credentials(0, sign=False)
    with pytest.raises(errors.ForgedAct, match="another key or choice"):
        table.tracked(0)


def test_entropy_sealed_before_the_contributions_is_refused() -> None:
    table = HonestTable(mode=record_pb2.CONTRIBUTION_MODE_SEATS, sign=False).join()
    tracker = table.tracked(0)
    body = record_pb2.Body(
        format=1,
        match_id=MATCH_ID,
        seq=len(table.records),
        time_us=table.clock,
        cause=record_pb2.Cause(kind=record_pb2.CAUSE_KIND_SEAT, seat=1, request_id=b"r" * 16),
    )
    body.lifecycle.add().contributed.SetInParent()
    body.lifecycle[0].contributed.seat = 1
    body.lifecycle[0].contributed.contribution = b"\x03" * 32
    given = [None, b"\x03" * 32]
    entropy = hashing.entropy(MATCH_ID, table.match.seeds.commitment, given)
    body.lifecycle.add().sealed.entropy = entropy
    sealed = assembly.seal(body.match_id, body.seq, body.SerializeToString(), [], table.match.hash, b"k" * 32)
    record = sealed.message
    with pytest.raises(errors.ContributionIgnored, match="without the own contribution"):
        tracker.receive(record)


# -- lies about acts ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seq", [1, 3, 5], ids=["join", "commitment", "contribution"])
def test_an_act_that_its_seat_did_not_sign_is_noticed(played: HonestTable, seq: int) -> None:
    def change(body: record_pb2.Body) -> None:
        body.cause.signature = bytes(64)

    with pytest.raises(errors.ForgedAct) as caught:
        told(played, None, lambda items: edit(played, items[seq], change))
    assert caught.value.seq == seq


def test_a_sealed_command_that_its_seat_did_not_sign_is_noticed_when_it_is_opened() -> None:
    table = HonestTable().start()
    while not table.match.over:
        seat = table.match.to_act[-1]
        if seat == 1 and table.match.state.phase == nimmt_pb2.PHASE_SELECTION:
            forge(table, GAME.legal(table.match.state, 1)[0])
        else:
            table.command(seat, GAME.legal(table.match.state, seat)[0])
    with pytest.raises(errors.ForgedAct) as caught:
        table.tracked(0)
    assert caught.value.seq is not None
    assert caught.value.seq < len(table.records) - 1


def forge(table: HonestTable, command: Message) -> None:
    """A command of seat 1 that the service makes up, with a signature that is none."""
    data = GAME.schema.commands.pack(command).SerializeToString(deterministic=True)
    cause = record_pb2.Cause(
        kind=record_pb2.CAUSE_KIND_SEAT,
        seat=1,
        request_id=hashing.sha256(b"forged", len(table.records).to_bytes(4, "big"))[:16],
        decision=table.match.decision,
        observed_head=table.match.hash,
        signature=b"\x00" * 64,
    )
    table.clock += 1
    action = engine_service_pb2.Action(cause=cause, time_us=table.clock, command=data)
    draft = decide(table.match, action, table.author.seeds, check_signatures=False)
    record = draft.seal(table.author._salt_key).message
    table.match = draft.after
    table.records.append(record)
    table.revealed.append(table.match.revealed)


def test_nobody_resigns_for_another_seat() -> None:
    table = HonestTable().start()
    tracker = table.tracked(0)
    table.act(1, ActKind.RESIGN, b"", resign={})
    item = table.shown(len(table.records) - 1, 0)
    edit(table, item, lambda body: setattr(body.lifecycle[0].resigned, "seat", 0))
    with pytest.raises(errors.ForgedAct):
        tracker.receive(item.record, item.late_openings)


def test_the_table_resigns_for_nobody() -> None:
    table = HonestTable().start()
    tracker = table.tracked(0)
    table.act(1, ActKind.RESIGN, b"", resign={})
    item = table.shown(len(table.records) - 1, 0)

    def change(body: record_pb2.Body) -> None:
        request_id = body.cause.request_id
        body.cause.Clear()
        body.cause.kind, body.cause.request_id = record_pb2.CAUSE_KIND_TABLE, request_id

    edit(table, item, change)
    with pytest.raises(errors.ForgedAct):
        tracker.receive(item.record, item.late_openings)


def test_a_command_of_an_unsigned_seat_must_be_the_one_sent() -> None:
    table = HonestTable(sign=False).start()
    tracker = table.tracked(0)
    card = GAME.legal(table.match.state, 0)[1]
    tracker.sent(b"q" * 16, GAME.schema.commands.pack(card).SerializeToString(deterministic=True))
    data = GAME.schema.commands.pack(GAME.legal(table.match.state, 0)[0]).SerializeToString(deterministic=True)
    table.act(0, ActKind.COMMAND, data, b"q" * 16, command=data)
    item = table.shown(len(table.records) - 1, 0)
    with pytest.raises(errors.ForgedAct, match="another command"):
        tracker.receive(item.record)


# -- lies about heads --------------------------------------------------------------------------------


def test_heads_are_signed_by_the_pinned_key(played: HonestTable) -> None:
    with pytest.raises(errors.BadHead, match="pinned key"):
        played.tracked(None).head(played.head(5, IMPOSTOR))


def test_a_head_must_fit_its_record_whichever_comes_first(played: HonestTable) -> None:
    wrong = SIGNER.sign(MATCH_ID, 5, b"\x01" * 32, records.read_body(played.records[4]).time_us)
    with pytest.raises(errors.BadHead, match="not of this record"):
        played.tracked(None).head(wrong)
    tracker = played.tracked(None, 3)
    tracker.head(wrong)
    tracker.receive(played.shown(3, None).record)
    with pytest.raises(errors.BadHead, match="not of this record"):
        tracker.receive(played.shown(4, None).record)


def test_a_head_with_another_time_is_not_of_its_record(played: HonestTable) -> None:
    with pytest.raises(errors.BadHead, match="not of this record"):
        played.tracked(None).head(SIGNER.sign(MATCH_ID, 5, played.records[4].hash, 1))


def test_two_heads_of_one_count_are_equivocation_and_both_are_kept(played: HonestTable) -> None:
    tracker = played.tracked(None, 3)
    first = played.head(9)
    second = SIGNER.sign(MATCH_ID, 9, b"\x01" * 32, START_US)
    tracker.head(first)
    with pytest.raises(errors.Equivocation) as caught:
        tracker.head(second)
    assert caught.value.notes == (first, second)


@pytest.mark.parametrize("note", ["", "no head", SIGNER.sign(b"o" * 16, 1, b"\x01" * 32, START_US)])
def test_what_is_no_head_of_the_match_is_refused(played: HonestTable, note: str) -> None:
    with pytest.raises(errors.BadHead):
        played.tracked(None).head(note)


def test_a_head_of_another_origin_is_refused(played: HonestTable) -> None:
    other = HeadSigner("other.test", SIGNERS_KEY)
    with pytest.raises(errors.BadHead):
        played.tracked(None).head(played.head(5, other))


# -- after a lie -------------------------------------------------------------------------------------


def test_after_a_lie_nothing_is_taken_and_the_rest_stays(played: HonestTable) -> None:
    tracker = played.tracked(0, 6)
    with pytest.raises(errors.Tampered):
        tracker.receive(played.shown(8, 0).record)
    with pytest.raises(errors.Tampered):
        tracker.receive(played.shown(6, 0).record)
    with pytest.raises(errors.Tampered):
        tracker.view()
    with pytest.raises(errors.Tampered):
        tracker.head(played.head(3))
    assert [recorded.record.hash for recorded in tracker.received] == [record.hash for record in played.records[:6]]


def test_a_lie_is_a_ledger_fault_and_a_client_error() -> None:
    fault = errors.Tampered("does not fit", seq=3)
    assert isinstance(fault, errors.ClientError)
    assert (fault.layer, str(fault)) == ("chain", "record 3: does not fit")
