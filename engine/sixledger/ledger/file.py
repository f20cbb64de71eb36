"""The ledger file `*.ledger.jsonl[.gz]`: a header line, a line per record, the signed heads (DESIGN 6).

Every line is RFC 8785 JSON, so that a value has one spelling. Reading is strict about the form; whether the
ledger is true is for the verifier to say.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeAlias

from sixledger.engine.registry import Registry
from sixledger.ledger import viewers
from sixledger.ledger.faults import LedgerFault, UnusableInput, tampered
from sixledger.ledger.heads import BadNote, SignedHead, VerifierKey, strict_base64
from sixledger.ledger.match import begin
from sixledger.ledger.readable import b64, dumps, shown
from sixledger.ledger.records import read, read_body
from sixledger.v1 import record_pb2, replay_service_pb2
from sixledger.v1.replay_service_pb2 import Verdict

FORMAT = "sixledger-ledger/1"
#: Bytes by which a ledger file of any version is known.
MAGIC = b'{"format":"sixledger-ledger/'
#: Limits of a file: bytes of a line, bytes after unpacking, records, heads.
MAX_LINE_BYTES = 4 << 20
MAX_FILE_BYTES = 256 << 20
MAX_RECORDS = 1 << 18
MAX_HEADS = 1 << 16

Source: TypeAlias = "str | Path | bytes | BinaryIO"

TAMPERED, TRUNCATED = replay_service_pb2.VERDICT_TAMPERED, replay_service_pb2.VERDICT_TRUNCATED
_HEADER = ("format", "keys", "match", "origin", "ruleset", "viewer")
_RECORD = ("body", "hash", "openings", "seals", "shown")


@dataclass(slots=True)
class LedgerFile:
    """A ledger file, read but not verified. Line 1 is the header, record n stands in line n + 2."""

    #: The header as JSON text.
    header: str
    origin: str
    keys: list[VerifierKey]
    viewer: str
    records: list[record_pb2.Record] = field(default_factory=list, repr=False)
    #: The readable copy of each record, as JSON text.
    shown: list[str] = field(default_factory=list, repr=False)
    #: The signed notes.
    heads: list[SignedHead] = field(default_factory=list)


def header_line(records: Sequence[record_pb2.Record], viewer: str, origin: str, keys: Iterable[VerifierKey]) -> str:
    """The header that belongs to the records. Raises LedgerFault if record 0 opens no match."""
    body = read_body(records[0])
    if not body.lifecycle or body.lifecycle[0].WhichOneof("step") != "opened":
        raise tampered("parse", "record 0 does not open a match")
    ruleset = body.lifecycle[0].opened.ruleset
    return dumps(
        {
            "format": FORMAT,
            "keys": sorted(str(key) for key in keys),
            "match": body.match_id.hex(),
            "origin": origin,
            "ruleset": {"digest": b64(ruleset.digest), "id": ruleset.id, "version": ruleset.version},
            "viewer": viewer,
        }
    )


def record_line(record: record_pb2.Record, readable: Any) -> str:
    """The line of one record; `readable` is its readable copy."""
    return dumps(
        {
            "body": b64(record.body),
            "hash": b64(record.hash),
            "openings": [{"salt": b64(o.salt), "seal": o.seal, "value": b64(o.value)} for o in record.openings],
            "seals": [
                {"audience": str(s.audience), "commitment": b64(s.commitment), "epoch": s.epoch} for s in record.seals
            ],
            "shown": readable,
        }
    )


def lines(
    records: Sequence[record_pb2.Record],
    heads: Sequence[str],
    keys: Sequence[VerifierKey],
    *,
    viewer: str = viewers.OPERATOR,
    registry: Registry | None = None,
) -> Iterator[str]:
    """The lines of the file for `viewer`, each without its end.

    `records` are from 0 on, with at least the openings of `viewer`; `heads` are signed notes with ascending
    counts, the last for the last record; `keys` are the keys that signed them. Raises ValueError if the heads
    are not so, LedgerFault if the records cannot be read.
    """
    if not records or not heads or not keys:
        raise ValueError("a ledger file needs records, a signed head of the last one, and its verifier key")
    try:
        parsed = [SignedHead.parse(note) for note in heads]
    except BadNote as error:
        raise ValueError(f"a head cannot be read: {error}") from error
    counts = [signed.head.count for signed in parsed]
    if counts != sorted(set(counts)) or counts[-1] != len(records):
        raise ValueError(f"the heads must ascend and end with that of record {len(records) - 1}")
    origin = parsed[-1].head.origin
    if any(key.origin != origin for key in keys) or any(signed.head.origin != origin for signed in parsed):
        raise ValueError("heads and keys must be of one origin")
    bodies = [read_body(record) for record in records]
    revealed = viewers.revealed_epoch(bodies)
    match = begin(records[0], registry)
    for_viewer = viewers.redact_all(records, viewer, revealed)
    name, number = viewers.weakest(for_viewer, len(match.seats), revealed)
    if name is None:
        raise ValueError(f"record {number} does not have every opening that {viewer} may have")
    used = [key for key in keys if any(signed.signed_by(key) for signed in parsed)]
    yield header_line(records, name, origin, used)
    for record, body in zip(for_viewer, bodies, strict=True):
        yield record_line(record, shown(read(record, match.game.schema, body), match.game.schema))
    for note in heads:
        yield dumps({"head": note})


def dump(
    records: Sequence[record_pb2.Record],
    heads: Sequence[str],
    keys: Sequence[VerifierKey],
    *,
    viewer: str = viewers.OPERATOR,
    compress: bool = False,
    registry: Registry | None = None,
) -> bytes:
    """The whole file; see `lines`. `compress` packs it with gzip, the same bytes each time."""
    text = "".join(line + "\n" for line in lines(records, heads, keys, viewer=viewer, registry=registry))
    data = text.encode()
    return gzip.compress(data, mtime=0) if compress else data


# -- reading -------------------------------------------------------------------------------------


def load(source: Source) -> LedgerFile:
    """Read a ledger file: a path, its bytes, or an open binary file. Gzip is known by its first bytes.

    Raises UnusableInput if it is no ledger, and LedgerFault, with the line, where its form is wrong.
    """
    if isinstance(source, (str, Path)):
        try:
            with Path(source).open("rb") as stream:
                return _load(stream)
        except OSError as error:
            raise UnusableInput(f"the file cannot be read: {error.strerror}") from error
    if isinstance(source, bytes):
        return _load(io.BytesIO(source))
    return _load(source)


def _load(stream: BinaryIO) -> LedgerFile:
    text_lines = _lines(stream)
    try:
        first = next(text_lines, b"")
    except LedgerFault as fault:
        raise UnusableInput(f"this is no ledger: {fault.message}") from fault
    if not first.startswith(MAGIC):
        raise UnusableInput(f"this is no ledger: a ledger file begins with {MAGIC.decode()} (or is that, gzipped)")
    number = 1
    try:
        ledger = _header(first)
        for line in text_lines:
            number += 1
            _take(ledger, line)
    except LedgerFault as fault:
        fault.line = fault.line or number
        raise
    return ledger


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """The lines without their ends, unpacked and within the limits. Raises LedgerFault with the line."""
    start = stream.read(2)
    whole: BinaryIO = io.BufferedReader(_Joined(start, stream))
    if start == b"\x1f\x8b":
        whole = gzip.GzipFile(fileobj=whole)  # type: ignore[assignment]  # reads like one
    total = number = 0
    while True:
        number += 1
        try:
            line = whole.readline(MAX_LINE_BYTES + 1)
        except EOFError:
            raise _fault(TRUNCATED, "the gzip data end too early", number) from None
        except (gzip.BadGzipFile, zlib.error):
            raise _fault(TAMPERED, "the gzip data are damaged", number) from None
        if not line:
            return
        total += len(line)
        if total > MAX_FILE_BYTES:
            raise _fault(TAMPERED, f"the file has more than {MAX_FILE_BYTES} bytes", number)
        if len(line) > MAX_LINE_BYTES:
            raise _fault(TAMPERED, f"the line has more than {MAX_LINE_BYTES} bytes", number)
        if not line.endswith(b"\n"):
            raise _fault(TRUNCATED, "the last line has no end", number)
        yield line[:-1]


class _Joined(io.RawIOBase):
    """Bytes that were read already, and the stream that they came from."""

    def __init__(self, start: bytes, rest: BinaryIO) -> None:
        self._start = start
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data, self._start = (self._start, b"") if self._start else (self._rest.read(len(buffer)), b"")
        buffer[: len(data)] = data
        return len(data)


def _fault(verdict: Verdict.ValueType, message: str, line: int) -> LedgerFault:
    fault = LedgerFault(verdict, "parse", message)
    fault.line = line
    return fault


def _refuse(token: str) -> NoReturn:
    raise ValueError(f"{token} is no number of a ledger")


def _object(line: bytes) -> dict[str, Any]:
    """The JSON object of a line in its only spelling. Raises LedgerFault."""
    try:
        text = line.decode()
        value = json.loads(text, parse_float=_refuse, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise tampered("parse", "the line is no JSON of a ledger") from error
    if not isinstance(value, dict) or dumps(value) != text:
        raise tampered("parse", "the line is no RFC 8785 JSON object")
    return value


def _members(value: Any, names: Sequence[str]) -> list[Any]:
    """The members of an object that has exactly `names`. Raises LedgerFault."""
    if not isinstance(value, dict) or sorted(value) != list(names):
        raise tampered("parse", f"an object must have exactly {', '.join(names)}")
    return [value[name] for name in names]


def _items(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise tampered("parse", "a list is missing")
    return value


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise tampered("parse", "a string is missing")
    return value


def _bytes(value: Any) -> bytes:
    try:
        return strict_base64(_string(value))
    except ValueError as error:
        raise tampered("parse", str(error)) from error


def _u32(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 32:
        raise tampered("parse", "a number is out of its range")
    return value


def _u64(value: Any) -> int:
    text = _string(value)
    if len(text) > 20 or not text.isascii() or not text.isdigit() or str(int(text)) != text or int(text) >= 1 << 64:
        raise tampered("parse", "a 64-bit number is not written as decimal string")
    return int(text)


def _header(line: bytes) -> LedgerFile:
    value = _object(line)
    name, keys, _, origin, _, viewer = _members(value, _HEADER)
    if name != FORMAT:
        raise UnusableInput(f"the ledger has another format than {FORMAT}, which is what this build reads")
    try:
        parsed = [VerifierKey.parse(_string(key)) for key in _items(keys)]
    except ValueError as error:
        raise tampered("parse", str(error)) from error
    return LedgerFile(line.decode(), _string(origin), parsed, _string(viewer))


def _take(ledger: LedgerFile, line: bytes) -> None:
    """Add a record or a head to the ledger."""
    value = _object(line)
    if "head" not in value:
        if ledger.heads:
            raise tampered("parse", "a record stands behind the heads")
        if len(ledger.records) >= MAX_RECORDS:
            raise tampered("parse", f"the file has more than {MAX_RECORDS} records")
        ledger.records.append(_record(value))
        ledger.shown.append(dumps(value["shown"]))
        return
    if len(ledger.heads) >= MAX_HEADS:
        raise tampered("parse", f"the file has more than {MAX_HEADS} heads")
    (note,) = _members(value, ("head",))
    try:
        ledger.heads.append(SignedHead.parse(_string(note)))
    except BadNote as error:
        raise tampered("heads", str(error)) from error


def _record(value: Any) -> record_pb2.Record:
    body, record_hash, openings, seals, _ = _members(value, _RECORD)
    record = record_pb2.Record(body=_bytes(body), hash=_bytes(record_hash))
    for item in _items(seals):
        audience, commitment, epoch = _members(item, ("audience", "commitment", "epoch"))
        record.seals.add(audience=_u64(audience), commitment=_bytes(commitment), epoch=_u32(epoch))
    for item in _items(openings):
        salt, seal, content = _members(item, ("salt", "seal", "value"))
        record.openings.add(salt=_bytes(salt), seal=_u32(seal), value=_bytes(content))
    return record
