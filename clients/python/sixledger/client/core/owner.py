"""What the service answers to an act of a table's owner, who follows no records: it must be the record of that act."""

from __future__ import annotations

from typing import Any

from sixledger.client.core.evidence import Evidence, Told
from sixledger.client.core.origin_keys import OriginKeys
from sixledger.client.core.receipts import Receipts
from sixledger.client.errors import BadHead, ForgedAct, ServerCheated, cheated
from sixledger.ledger import viewers
from sixledger.ledger.faults import LedgerFault
from sixledger.ledger.heads import SignedHead
from sixledger.ledger.records import read_body
from sixledger.v1 import record_pb2, replay_service_pb2

TABLE = record_pb2.CAUSE_KIND_TABLE


def answered(
    reply: Any, match_id: bytes, keys: OriginKeys, request_id: bytes, *, step: str = "", command: bytes = b""
) -> record_pb2.Record:
    """The record of a reply, with its signed head: caused by this request, with this step or command.

    Raises ServerCheated, with the reply as its evidence.
    """
    record: record_pb2.Record = reply.record
    try:
        return _checked(record, reply.head, match_id, keys, request_id, step, command)
    except ServerCheated as lie:
        _keep(lie, record, reply.head, match_id, keys)
        raise
    except LedgerFault as fault:
        error = cheated(fault, None)
        if isinstance(error, ServerCheated):
            _keep(error, record, reply.head, match_id, keys)
        raise error from fault


def _checked(
    record: record_pb2.Record,
    note: str,
    match_id: bytes,
    keys: OriginKeys,
    request_id: bytes,
    step: str,
    command: bytes,
) -> record_pb2.Record:
    body = read_body(record)
    count = Receipts(match_id, keys).take(note)
    steps = [each.WhichOneof("step") for each in body.lifecycle]
    # A bot that the owner seats joins as any seat does.
    fits = (
        steps[:1] == ["joined"] if step == "joined" else body.cause.kind == TABLE and steps[:1] == ([step] * bool(step))
    )
    recorded = (body.match_id, body.cause.request_id, body.command, body.seq + 1)
    if not fits or recorded != (match_id, request_id, command, count):
        raise ForgedAct("the reply to an act of the owner is the record of another one", seq=body.seq)
    head = SignedHead.parse(note).head
    if (head.hash, head.time_us) != (record.hash, body.time_us):
        raise BadHead("the signed head is not of this record", seq=body.seq)
    return record


def _keep(error: ServerCheated, record: record_pb2.Record, head: str, match_id: bytes, keys: OriginKeys) -> None:
    verdict = replay_service_pb2.Verdict.Name(error.verdict).removeprefix("VERDICT_")
    told = Told(record, (), head)
    error.evidence = Evidence(
        match_id, keys.current, viewers.SPECTATOR, type(error).__name__, error.message, verdict, error.layer, error.seq,
        (), {}, (), told, all_keys=keys.keys,
    )  # fmt: skip
