"""What is fuzzed: functions that take any bytes and may raise nothing, and the inputs to begin with.

Each passes over the errors that its part promises. Whatever else comes out of it is a bug, and so is what never comes.
Two kinds of bytes are made of the input: the input itself, and something right, changed by the edits that the input
says (`edited`): most parts lie behind checks that arbitrary bytes never pass.
"""

from __future__ import annotations

import asyncio
import gzip
import io
import tempfile
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError
from sixledger.client.core.tracker import Tracker
from sixledger.client.credentials import Credentials
from sixledger.client.errors import ClientError
from sixledger.client.trust import TrustStore
from sixledger.engine.registry import installed
from sixledger.ledger import file, hashing, records
from sixledger.ledger.faults import LedgerFault, UnusableInput
from sixledger.ledger.folding import fold
from sixledger.ledger.heads import BadNote, SignedHead, VerifierKey, split_notes
from sixledger.ledger.jsonl import json_object, read_lines, unpacked
from sixledger.ledger.key_list import BadKeyList, SignedKeyList, first_list
from sixledger.ledger.readable import dumps, shown
from sixledger.ledger.verify import verify, verify_records
from sixledger.service.errors import ServiceError
from sixledger.service.keyring import KeyFileError, Keyring
from sixledger.service.replay_servicer import ReplayServicer
from sixledger.v1 import record_pb2, replay_service_pb2
from support.golden_ledger import FOLDER
from support.ledgers import KEYS, Table, heads, private_key

#: Bytes of an edit but those that it puts in: which part, where, how many go, how many come.
_EDIT = 6


def edited(seed: bytes, edits: bytes) -> bytes:
    """`seed` with some of its bytes replaced, as often as `edits` says."""
    result = bytearray(seed)
    while len(edits) >= _EDIT:
        at, drop, add = int.from_bytes(edits[:4], "big") % (len(result) + 1), edits[4] & 31, edits[5] & 31
        result[at : at + drop] = edits[_EDIT : _EDIT + add]
        edits = edits[_EDIT + add :]
    return bytes(result)


@cache
def golden() -> list[bytes]:
    """Small golden ledgers of every game."""
    paths = sorted(FOLDER.glob("*@*/*.ledger.jsonl"), key=lambda path: path.stat().st_size)
    return [path.read_bytes() for path in paths][:12]


@cache
def _loaded() -> list[file.LedgerFile]:
    return [file.load(data) for data in golden()]


def _chosen(data: bytes, options: list[Any]) -> tuple[Any, bytes]:
    """One of the options, by the first byte, and the rest of the bytes."""
    return options[data[0] % len(options) if data else 0], data[1:]


# -- the targets ---------------------------------------------------------------------------------


def reader(data: bytes) -> None:
    """The file reader."""
    seed, edits = _chosen(data, golden())
    for content in (data, file.MAGIC + data, edited(seed, edits)):
        with suppress(UnusableInput, LedgerFault):
            file.load_prefix(content)


def lines(data: bytes) -> None:
    """Lines, and the JSON in one."""
    for content in (data, data + b"\n"):
        with suppress(LedgerFault, UnusableInput):
            list(read_lines(io.BytesIO(content)))
    with suppress(LedgerFault):
        json_object(data)


def unpacking(data: bytes) -> None:
    """The gzip layer; what it gives is what the library gives."""
    for content in (b"\x1f\x8b" + data, edited(gzip.compress(b"a line\n" * 50, mtime=0), data)):
        try:
            expected = gzip.decompress(content)
        except (EOFError, zlib.error, OSError):
            expected = None
        try:
            found = unpacked(io.BytesIO(content)).read()
        except (EOFError, zlib.error, UnusableInput):
            continue
        assert not content.startswith(b"\x1f\x8b") or expected == found


def keys(data: bytes) -> None:
    """Signed heads, verifier keys and key lists; what is read has one spelling."""
    seeds = (heads(_finished().records)[0], str(KEYS[0]), first_list(KEYS[0], private_key("origin")).note)
    for content in (data, *(edited(seed.encode(), data) for seed in seeds)):
        text = content.decode("utf-8", "replace")
        with suppress(BadNote):
            assert SignedHead.parse(text).note == text
        with suppress(BadNote):
            split_notes(text)
        with suppress(BadKeyList):
            assert SignedKeyList.parse(text).note == text
        with suppress(ValueError):
            assert str(VerifierKey.parse(text)) == text.strip()


def whole(data: bytes) -> None:
    """The verifier on a file."""
    seed, edits = _chosen(data, golden())
    with suppress(UnusableInput):
        verify(data)
    with suppress(UnusableInput):
        verify(edited(seed, edits), trusted=KEYS)


def body(data: bytes) -> None:
    """Bodies, the parts of a record, and the readable copy, for every game."""
    ledger, edits = _chosen(data, _loaded())
    number, edits = _chosen(edits, list(range(len(ledger.records))))
    record = ledger.records[number]
    for content in (data, edited(record.body, edits)):
        changed = record_pb2.Record(body=content, seals=record.seals, openings=record.openings, hash=record.hash)
        for game in installed().all():
            with suppress(LedgerFault):
                facts = records.read(changed, game.schema)
                records.check_shape(records.Parts.of(changed), facts.body)
                dumps(shown(facts, game.schema))


def rules(data: bytes) -> None:
    """The verifier on records that an author chained and signed anew, whatever they say."""
    ledger, edits = _chosen(data, _loaded())
    forged = _forged(list(ledger.records), edits)
    report = verify_records(forged, _heads(forged), keys=KEYS)
    assert report.verdict
    with suppress(LedgerFault):
        fold(forged)


def _forged(honest: list[record_pb2.Record], edits: bytes) -> list[record_pb2.Record]:
    """The records with one changed, and with the commitments and hashes that make everything fit again."""
    number, edits = _chosen(edits, list(range(len(honest))))
    forged = [record_pb2.Record.FromString(record.SerializeToString()) for record in honest]
    record = forged[number]
    opened, edits = _chosen(edits, [None, *record.openings])
    if opened is None:
        record.body = edited(record.body, edits)
    else:
        opened.value = edited(opened.value, edits)
    match_id = records.read_body(honest[0]).match_id
    for opening in record.openings:
        sealed = hashing.commitment(match_id, number, opening.seal, opening.salt, opening.value)
        record.seals[opening.seal].commitment = sealed
    previous = forged[number - 1].hash if number else hashing.ZERO_HASH
    for seq, each in enumerate(forged[number:], number):
        each.hash = previous = hashing.record_hash(match_id, seq, previous, each.body, each.seals)
    return forged


def _heads(forged: list[record_pb2.Record]) -> list[str]:
    try:
        return heads(forged)
    except (DecodeError, ValueError):  # the last body is none, or has no time that a head can state
        return []


@cache
def _finished() -> Table:
    return Table(name="fuzz", signing=frozenset({0}), immediate=False).play()


def tracker(data: bytes) -> None:
    """What a client takes from a server: records, late openings, heads."""
    table = _finished()
    match_id = table.match.match_id
    forged = _forged(table.records, data)
    client = Tracker(match_id, KEYS[0])
    late = record_pb2.LateOpenings()
    with suppress(DecodeError):
        late.ParseFromString(data)
    with suppress(ClientError):
        for record in forged:
            client.receive(records.redact(record, None, client.match.revealed if client.count else 0))
        client.receive(forged[-1], [late])
    stranger = Tracker(match_id, KEYS[0])
    with suppress(ClientError, DecodeError):
        stranger.receive(record_pb2.Record.FromString(data), [late], data.decode("utf-8", "replace"))
    with suppress(ClientError):
        Tracker(match_id, KEYS[0]).head(edited(table.heads()[0].encode(), data).decode("utf-8", "replace"))


@cache
def _stores() -> tuple[bytes, bytes, bytes]:
    """A trust store, credentials, and the keys of a server, as they are kept."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        TrustStore(folder / "trust", KEYS).pin(KEYS[0], "localhost:1")
        Credentials(bytes(16), 0, bytes(32)).save(folder / "credentials")
        Keyring(bytes(32), bytes(32)).save(folder / "keyring")
        return tuple((folder / kind).read_bytes() for kind in ("trust", "credentials", "keyring"))  # type: ignore[return-value]  # three


def stores(data: bytes) -> None:
    """Files with keys."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "file")
        path.touch(mode=0o600)
        for content in (data, *(edited(seed, data) for seed in _stores())):
            path.write_bytes(content)
            with suppress(ClientError):
                TrustStore(path)
            with suppress(ClientError):
                Credentials.load(path)
            with suppress(KeyFileError):
                Keyring.load(path)


class _Here(Executor):
    """Does the work at once, in this process."""

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(work(*arguments[:2]))  # without a limit of time: signals are the fuzzer's
        except Exception as error:
            done.set_exception(error)
        return done


def replay(data: bytes) -> None:
    """The call that verifies a ledger: any messages, any keys."""
    seed, edits = _chosen(data, golden())
    servicer = ReplayServicer(KEYS[0], max_bytes=1 << 20, executor=_Here())

    async def pieces(content: bytes) -> AsyncIterator[replay_service_pb2.VerifyLedgerRequest]:
        with suppress(DecodeError):
            yield replay_service_pb2.VerifyLedgerRequest.FromString(edits)
        for at in range(0, len(content), 4096):
            yield replay_service_pb2.VerifyLedgerRequest(chunk=content[at : at + 4096])

    for content in (data, edited(seed, edits), edited(gzip.compress(seed, mtime=0), edits)):
        with suppress(ServiceError):
            assert asyncio.run(servicer.VerifyLedger(pieces(content))).report.verdict


TARGETS: dict[str, Callable[[bytes], None]] = {
    each.__name__: each for each in (reader, lines, unpacking, keys, whole, body, rules, tracker, stores, replay)
}


def inputs(target: str) -> Iterator[bytes]:
    """What fuzzing begins with."""
    yield b""
    yield bytes(12)
    for number in range(12):
        yield bytes([number, 3, 1, 0, 0, 0, number * 7, 2, 1, 255])
    if target in ("reader", "lines", "whole", "replay"):
        yield from (data for data in golden() if len(data) < 100_000)
    if target == "lines":
        yield from golden()[0].splitlines()
    if target == "unpacking":
        yield gzip.compress(golden()[0], mtime=0)[2:]
    if target in ("body", "tracker"):
        yield from (record.body for record in _loaded()[0].records)
    if target == "tracker":
        yield from (record.SerializeToString() for record in _finished().records[:5])
    if target in ("lines", "whole", "stores"):
        yield from (b"[" * depth + b"]" * depth for depth in (500, 990, 100_000))
        yield from (b'{"a":' * depth + b"1" + b"}" * depth for depth in (500, 990, 100_000))
        yield b"9" * 5000
    if target == "whole":
        header, first, *_ = golden()[0].splitlines(keepends=True)
        start = first[: first.index(b',"shown":')] + b',"shown":'
        for depth in (300, 500, 900, 950, 980, 1000):
            yield header + start + b"[" * depth + b"]" * depth + b"}\n"
            yield golden()[0].replace(first, start + b'{"a":' * depth + b"1" + b"}" * depth + b"}\n", 1)
    if target == "stores":
        for seed in _stores():
            yield seed
            for old, new in ((b"AAAAAAAA", "é".encode()), (b'"seat": 0', b'"seat": Infinity'), (b"1", b"9" * 5000)):
                yield seed.replace(old, new)
    if target == "keys":
        yield heads(_finished().records)[0].encode()
        yield first_list(KEYS[0], private_key("origin")).note.encode()
