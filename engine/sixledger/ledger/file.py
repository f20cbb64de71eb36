"""The ledger file `*.ledger.jsonl[.gz]`: a header line, a line per record, the signed heads (DESIGN 6).

Every line is RFC 8785 JSON, so that a value has one spelling. Reading is strict about the form; whether the
ledger is true is for the verifier to say.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from sixledger.engine.registry import Registry
from sixledger.ledger import viewers
from sixledger.ledger.faults import LedgerFault, UnusableInput, tampered
from sixledger.ledger.folding import begin
from sixledger.ledger.heads import BadNote, SignedHead, VerifierKey, b64
from sixledger.ledger.jsonl import beyond, decoded, items, json_object, members, read_lines, string, u32, u64
from sixledger.ledger.readable import dumps, shown
from sixledger.ledger.records import MAX_SEALS, Parts, read, read_body
from sixledger.v1 import record_pb2

FORMAT = "sixledger-ledger/1"
#: Bytes by which a ledger file of any version is known.
MAGIC = b'{"format":"sixledger-ledger/'
#: Limits of a file; `jsonl` has those of its bytes.
MAX_RECORDS = 1 << 18
MAX_HEADS = 1 << 16
#: Seals of all records: each is some bytes of the file, and many more of memory.
MAX_ALL_SEALS = 1 << 20
#: Keys in the header: each is tried on each head.
MAX_KEYS = 100

Source: TypeAlias = "str | Path | bytes | BinaryIO"

_HEADER = ("format", "keys", "match", "origin", "ruleset", "viewer")
_SHOWN = ',"shown":'
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
    #: How many seals the records have.
    seals: int = 0


def header_line(records: Sequence[record_pb2.Record], viewer: str, origin: str, keys: Iterable[VerifierKey]) -> str:
    """The header that belongs to the records. Raises LedgerFault if record 0 opens no match."""
    body = read_body(records[0])
    if not body.lifecycle or body.lifecycle[0].WhichOneof("step") != "opened":
        raise tampered("parse", "record 0 does not open a match")
    ruleset = body.lifecycle[0].opened.ruleset
    return dumps(
        {
            "format": FORMAT,
            "keys": sorted({str(key) for key in keys}),
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
    viewer: str | None = None,
    registry: Registry | None = None,
) -> Iterator[str]:
    """The lines of the file for `viewer` (None: with the openings as they are), each without its end.

    `records` are from 0 on, with at least the openings of `viewer`; `heads` are signed notes with ascending
    counts, the last for the last record; `keys` are the keys that signed them. The header names the weakest
    viewer with the same openings. Raises ValueError if something is missing, LedgerFault if the records cannot
    be read.
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
    chosen = list(records) if viewer is None else viewers.redact_all(records, viewer, revealed)
    parts = [Parts.of(record) for record in chosen]
    name, _ = viewers.weakest(parts, len(match.seats), revealed)
    if name is None:
        raise ValueError("the records do not have exactly the openings that some viewer may have")
    for number, each in enumerate(parts):
        if not viewers.is_complete(each, viewer or name, revealed):
            raise ValueError(f"record {number} does not have exactly the openings that {viewer} may have")
    used = [key for key in keys if any(signed.signed_by(key) for signed in parsed)]
    yield header_line(records, name, origin, used)
    for record, body in zip(chosen, bodies, strict=True):
        yield record_line(record, shown(read(record, match.game.schema, body), match.game.schema))
    for note in heads:
        yield dumps({"head": note})


def dump(
    records: Sequence[record_pb2.Record],
    heads: Sequence[str],
    keys: Sequence[VerifierKey],
    *,
    viewer: str | None = None,
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

    Raises UnusableInput if it is no ledger, or one beyond the limits, and LedgerFault, with the line, where its form is
    wrong.
    """
    ledger, fault = load_prefix(source)
    if fault is not None:
        raise fault
    return ledger


def load_prefix(source: Source) -> tuple[LedgerFile, LedgerFault | None]:
    """Read a ledger file as far as its form is right: what was read, and the fault that ended it.

    Raises UnusableInput if it is no ledger, or one beyond the limits, and LedgerFault if not even its header can be
    read.
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


def _load(stream: BinaryIO) -> tuple[LedgerFile, LedgerFault | None]:
    text_lines = read_lines(stream)
    try:
        first = next(text_lines, b"")
    except LedgerFault as fault:
        raise UnusableInput(f"this is no ledger: {fault.message}") from fault
    if not first.startswith(MAGIC):
        raise UnusableInput(f"this is no ledger: a ledger file begins with {MAGIC.decode()} (or is that, gzipped)")
    number = 1
    ledger: LedgerFile | None = None
    try:
        ledger = _header(first)
        for line in text_lines:
            number += 1
            _take(ledger, line)
    except LedgerFault as fault:
        fault.line = fault.line or number
        if ledger is None:
            raise
        return ledger, fault
    return ledger, None


def _header(line: bytes) -> LedgerFile:
    value = json_object(line)
    name, keys, _, origin, _, viewer = members(value, _HEADER)
    if name != FORMAT:
        raise UnusableInput(f"the ledger has another format than {FORMAT}, which is what this build reads")
    if len(items(keys)) > MAX_KEYS:
        raise beyond(f"the header has more than {MAX_KEYS} keys")
    try:
        parsed = [VerifierKey.parse(string(key)) for key in keys]
    except ValueError as error:
        raise tampered("parse", str(error)) from error
    return LedgerFile(line.decode(), string(origin), parsed, string(viewer))


def _take(ledger: LedgerFile, line: bytes) -> None:
    """Add a record or a head to the ledger."""
    value = json_object(line)
    if "head" not in value:
        if ledger.heads:
            raise tampered("parse", "a record stands behind the heads")
        if len(ledger.records) >= MAX_RECORDS:
            raise beyond(f"the file has more than {MAX_RECORDS} records")
        ledger.records.append(_record(value))
        ledger.seals += len(ledger.records[-1].seals)
        if ledger.seals > MAX_ALL_SEALS:
            raise beyond(f"the file has more than {MAX_ALL_SEALS} seals")
        # The keys are sorted and all before it hold base64 and numbers: the first occurrence is the key.
        text = line.decode()
        ledger.shown.append(text[text.index(_SHOWN) + len(_SHOWN) : -1])
        return
    if len(ledger.heads) >= MAX_HEADS:
        raise beyond(f"the file has more than {MAX_HEADS} heads")
    (note,) = members(value, ("head",))
    try:
        ledger.heads.append(SignedHead.parse(string(note)))
    except BadNote as error:
        raise tampered("heads", str(error)) from error


def _record(value: Any) -> record_pb2.Record:
    body, record_hash, openings, seals, _ = members(value, _RECORD)
    record = record_pb2.Record(body=decoded(body), hash=decoded(record_hash))
    if not len(items(openings)) <= len(items(seals)) <= MAX_SEALS:
        raise tampered("parse", f"the record has more than {MAX_SEALS} seals, or more openings than seals")
    for item in seals:
        audience, commitment, epoch = members(item, ("audience", "commitment", "epoch"))
        record.seals.add(audience=u64(audience), commitment=decoded(commitment), epoch=u32(epoch))
    for item in openings:
        salt, seal, content = members(item, ("salt", "seal", "value"))
        record.openings.add(salt=decoded(salt), seal=u32(seal), value=decoded(content))
    return record
