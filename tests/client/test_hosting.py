"""Opening, aborting, exporting: the reply must be what was asked for, and a broken download begins anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message
from sixledger.client import CreatedMatch, Settings, TrustStore, errors
from sixledger.client.core import ledgers
from sixledger.client.core.flow import Open, Read, Sleep
from sixledger.client.core.hosting import UNSPECIFIED, Hosting
from sixledger.client.core.session import Session
from sixledger.engine.nimmt import GAME
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.ledger import hashing, records
from sixledger.ledger.author import Author
from sixledger.v1 import catalog_service_pb2, match_service_pb2, record_pb2, replay_service_pb2
from support.play import MATCH_ID, ONE_ROUND, SIGNER, START_US, TWO_ROUNDS, HonestTable, run

SECRET = b"\x04" * 32
CREATED_ID = hashing.sha256(b"sixledger/match/1\n", SECRET)[:16]
CREATE_REQUEST = hashing.sha256(b"sixledger/create/1\n", SECRET)[:16]


def hosting() -> Hosting:
    return Hosting(Session("play.test:1", Settings(), TrustStore()), lambda: None)


def origin(effect: Any) -> Any:
    assert effect.method == "GetOrigin"
    key = SIGNER.verifier_key
    return catalog_service_pb2.GetOriginResponse(origin=key.origin, verifier_key=str(key))


def created(
    lie: Callable[[Any], object] = lambda reply: None,
    *,
    asked: Message | None = ONE_ROUND,
    seats: int = 2,
    **changes: Any,
) -> CreatedMatch:
    """Create a match of one round, two seats; `changes` are what the service opens instead."""

    def serve(effect: Any) -> Any:
        if effect.method != "CreateMatch":
            return origin(effect)
        assert effect.request.secret == SECRET
        values: dict[str, Any] = {
            "seats": 2,
            "options": ONE_ROUND,
            "match_id": CREATED_ID,
            "request_id": CREATE_REQUEST,
            "root_secret": b"\x07" * 32,
            "time_us": START_US,
        }
        _, match, record = Author.open(GAME, **(values | changes))
        head = SIGNER.sign(match.match_id, 1, record.hash, START_US)
        reply = match_service_pb2.CreateMatchResponse(
            match_id=match.match_id, owner_token="o", record=record, head=head
        )
        lie(reply)
        return reply

    return run(hosting().create("nimmt", seats, asked, UNSPECIFIED, SECRET), serve)


def test_the_opened_match_is_the_one_asked_for() -> None:
    match = created()
    assert (match.match_id, match.owner_token, match.secret) == (CREATED_ID, "o", SECRET)
    assert created(asked=GAME.schema.options.pack(ONE_ROUND)) == match
    assert "owner_token" not in repr(match)
    assert repr(SECRET)[2:-1] not in repr(match)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"match_id": b"m" * 16}, errors.Tampered),
        ({"request_id": b"r" * 16}, errors.ForgedAct),
        ({"options": TWO_ROUNDS}, errors.Tampered),
        ({"seats": 3}, errors.Tampered),
        ({"mode": record_pb2.CONTRIBUTION_MODE_SERVER_ONLY}, errors.Tampered),
    ],
)
def test_another_match_than_the_one_asked_for_is_refused(changes: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        created(**changes)


def test_options_that_the_rules_do_not_allow_cannot_have_been_opened() -> None:
    with pytest.raises(errors.Tampered, match="do not allow"):
        created(asked=nimmt_pb2.Options(limit=5000))


def test_an_opened_match_comes_with_its_head() -> None:
    with pytest.raises(errors.BadHead):
        created(lambda reply: setattr(reply, "head", ""))
    with pytest.raises(errors.BadHead):
        created(lambda reply: setattr(reply, "head", SIGNER.sign(CREATED_ID, 1, b"\x01" * 32, START_US)))


def test_options_of_another_message_are_refused_before_any_call() -> None:
    def serve(effect: Any) -> Any:
        return origin(effect)

    with pytest.raises(ValueError, match=r"sixledger\.games\.nimmt\.v1\.Options"):
        run(hosting().create("nimmt", 2, nimmt_pb2.View(), UNSPECIFIED, None), serve)
    with pytest.raises(errors.UnknownRuleset, match=r"sixledger\.v1\.Options"):
        run(hosting().create("chess", 2, nimmt_pb2.Options(), UNSPECIFIED, None), serve)


def test_the_reply_to_an_abort_is_its_record() -> None:
    table = HonestTable()
    record = table.abort()

    def serve(effect: Any) -> Any:
        if effect.method == "GetOrigin":
            return origin(effect)
        return match_service_pb2.AbortMatchResponse(record=record, head=table.head(2))

    assert run(hosting().abort(MATCH_ID, "o", b"a" * 16), serve) == record
    with pytest.raises(errors.ForgedAct):
        run(hosting().abort(MATCH_ID, "o", b"b" * 16), serve)


# -- files -------------------------------------------------------------------------------------------


class Download:
    """Streams of chunks; an exception breaks the stream."""

    def __init__(self, *streams: list[Any]) -> None:
        self._streams = list(streams)

    def cancel(self) -> bool:
        return True

    def __call__(self, effect: Any) -> Any:
        if isinstance(effect, Sleep):
            return None
        if isinstance(effect, Open):
            self._stream = self._streams.pop(0)
            return self
        assert isinstance(effect, Read)
        item = self._stream.pop(0) if self._stream else None
        if isinstance(item, Exception):
            raise item
        return None if item is None else match_service_pb2.ExportLedgerResponse(chunk=item)


def test_a_broken_download_begins_anew_and_leaves_no_half_file(tmp_path: Path) -> None:
    path = tmp_path / "match.ledger.jsonl"
    broken = errors.TransportError("UNAVAILABLE", "reset")
    streams = Download([b"one", broken], [b"one", b"two"])
    assert run(hosting().export(MATCH_ID, path, ""), streams) == path
    assert path.read_bytes() == b"onetwo"
    with pytest.raises(errors.UnknownMatch):
        run(hosting().export(MATCH_ID, path, ""), Download([b"x", errors.UnknownMatch("no such match")]))
    assert path.read_bytes() == b"onetwo"
    assert list(tmp_path.iterdir()) == [path]


def test_what_the_rules_forbid_and_no_chain_shows_is_noticed_when_its_epoch_is_revealed() -> None:
    table = HonestTable().start().play()
    tracker = table.tracked(0, len(table.records) - 1)
    item = table.shown(len(table.records) - 1, 0)
    body = record_pb2.Body.FromString(item.record.body)
    ended = body.events[-1].nimmt.match_ended
    ended.winners[:] = [1 - ended.winners[0]]
    item.record.body = body.SerializeToString(deterministic=True)
    previous = table.records[-2].hash
    item.record.hash = hashing.record_hash(MATCH_ID, body.seq, previous, item.record.body, item.record.seals)
    head = SIGNER.sign(MATCH_ID, body.seq + 1, item.record.hash, body.time_us)
    with pytest.raises(errors.RulesBroken) as caught:
        tracker.receive(item.record, item.late_openings, head)
    with pytest.raises(errors.RulesBroken):  # as the verifier does
        ledgers.verify(tracker)
    assert caught.value.seq == body.seq
    assert caught.value.verdict == replay_service_pb2.VERDICT_RULES_DIVERGENCE
    assert caught.value.differences


def test_a_whole_ledger_of_a_seat_verifies_with_its_receipts() -> None:
    table = HonestTable(options=TWO_ROUNDS).start().play()
    tracker = table.tracked(1)
    tracker.head(table.head(5))
    tracker.head(table.head(len(table.records)))
    report = ledgers.verify(tracker)
    assert report.verdict == replay_service_pb2.VERDICT_VALID
    assert report.record_count == len(table.records)
    assert records.read_body(table.records[-1]).reveals
