"""The archive: a folder with the ledger file of each match whose records have left the store.

`write` makes such a file, `read` takes its records back, `Ledgers` reads the records of a match wherever they are. The
file is an ordinary ledger file with every opening; like the store it is for the operator alone.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from pathlib import Path

from google.protobuf.message import DecodeError
from sixledger.ledger import file, hashing, viewers
from sixledger.ledger.faults import LedgerFault, UnusableInput
from sixledger.ledger.heads import HeadSigner, VerifierKey
from sixledger.ledger.records import read_body
from sixledger.ledger.verify import verify
from sixledger.service.errors import ServiceError, ledger_broken
from sixledger.service.logs import Log
from sixledger.service.store import MatchRow, RecordsArchived, Store
from sixledger.v1 import error_pb2, record_pb2, replay_service_pb2

#: Bytes of records of archived matches that are kept in memory, at least one ledger.
CACHE_BYTES = 64 << 20
#: Files that are read at a time.
READERS = 2
#: How often a match is looked up anew whose records leave or come back meanwhile.
_ATTEMPTS = 4


class BadArchive(Exception):
    """A ledger that cannot be archived, or a file that is not what the store says has left it. Says why."""


def path_of(folder: Path, match_id: bytes) -> Path:
    """The file of a match."""
    return folder / f"{match_id.hex()}.ledger.jsonl.gz"


def write(folder: Path, match_id: bytes, stored: Sequence[bytes], signer: HeadSigner) -> tuple[bytes, int]:
    """Write the file of a match and prove it: the hash of its last record, and the bytes of the file.

    The file is written beside its place, flushed to the disk, read again from there, verified by a whole replay and
    compared with `stored`, all records of the match; only then it gets its name. Whoever does it twice makes the same
    file. Raises BadArchive, and OSError; the name then has what it had before.
    """
    try:
        records = [record_pb2.Record.FromString(data) for data in stored]
        last = read_body(records[-1])
        head = signer.sign(match_id, len(records), records[-1].hash, last.time_us)
        data = file.dump(records, [head], signer.verifier_keys, viewer=viewers.OPERATOR, compress=True)
    except (DecodeError, LedgerFault, ValueError) as error:
        raise BadArchive(f"its ledger cannot be written: {error}") from error
    path = path_of(folder, match_id)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        prove(beside, signer.verifier_keys)
        if read(beside, match_id, len(records), records[-1].hash) != list(stored):
            raise BadArchive("its records would not come back as they are: they were not written by this program")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    _flush(folder)
    return records[-1].hash, len(data)


def prove(path: Path, trusted: Iterable[VerifierKey] = ()) -> None:
    """Raise BadArchive unless the ledger in a file is VALID, and signed by a trusted key if there are any."""
    try:
        report = verify(path, trusted=trusted)
    except UnusableInput as error:
        raise BadArchive(str(error)) from error
    if report.verdict != replay_service_pb2.VERDICT_VALID:
        verdict = replay_service_pb2.Verdict.Name(report.verdict).removeprefix("VERDICT_")
        raise BadArchive(f"its ledger is {verdict}: {report.summary}")


def read(path: Path, match_id: bytes, count: int, last_hash: bytes) -> list[bytes]:
    """The records in a file as the store had them: `count` of a match, every seal open, chained up to `last_hash`.

    Raises BadArchive if they are others, and FileNotFoundError or another OSError if the file cannot be read.
    """
    with path.open("rb") as stream:
        try:
            records = file.load(stream).records
            if len(records) != count:
                raise BadArchive(f"it has {len(records)} records, not {count}")
            _check_chain(records, match_id)
        except (LedgerFault, UnusableInput) as error:
            raise BadArchive(str(error)) from error
    if records[-1].hash != last_hash:
        raise BadArchive("its last record is another one")
    return [record.SerializeToString() for record in records]


def _check_chain(records: Sequence[record_pb2.Record], match_id: bytes) -> None:
    previous = hashing.ZERO_HASH
    for seq, record in enumerate(records):
        body = read_body(record, strict=False)
        if (body.match_id, body.seq) != (match_id, seq):
            raise BadArchive(f"record {seq} is of another match, or in another place")
        if hashing.record_hash(match_id, seq, previous, record.body, record.seals) != record.hash:
            raise BadArchive(f"record {seq} does not fit its hash")
        if [opening.seal for opening in record.openings] != list(range(len(record.seals))):
            raise BadArchive(f"record {seq} has not every opening")
        for index, (seal, opening) in enumerate(zip(record.seals, record.openings, strict=True)):
            if hashing.commitment(match_id, seq, index, opening.salt, opening.value) != seal.commitment:
                raise BadArchive(f"record {seq} has an opening that does not fit its seal")
        previous = record.hash


def _flush(folder: Path) -> None:
    """Make the names in a folder survive a crash."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class Ledgers:
    """The records of matches, from the store or, where they have left it, from the archive.

    Ledgers of the archive are read when somebody asks, whole; the least recently used leave memory first. Each is read
    once, however many ask for it at the same time.
    """

    def __init__(self, store: Store, folder: Path | None = None, *, cache_bytes: int = CACHE_BYTES) -> None:
        """`folder` is the archive; None: there is none here."""
        self._store = store
        self._folder = folder
        self._cache_bytes = cache_bytes
        self._held = 0
        #: By match id and last hash, with the bytes of the records; the least recently used first.
        self._cache: OrderedDict[tuple[bytes, bytes], tuple[list[bytes], int]] = OrderedDict()
        self._loading: dict[tuple[bytes, bytes], asyncio.Task[list[bytes]]] = {}
        self._readers = asyncio.Semaphore(READERS)
        self._log = Log("archive")

    @property
    def held_bytes(self) -> int:
        """Bytes of records of archived matches in memory."""
        return self._held

    async def records(self, match_id: bytes, first: int, limit: int) -> list[bytes]:
        """As `Store.records`, wherever they are.

        Raises UNAVAILABLE if the archive cannot be read here, and LEDGER_BROKEN if it is damaged.
        """
        for _ in range(_ATTEMPTS):
            try:
                return await self._store.records(match_id, first, limit)
            except RecordsArchived:
                row = await self._store.match(match_id)
            if row is not None and row.archived:
                return (await self._archived(row))[first : first + limit]
        # They left and came back, again and again.
        return await self._store.records(match_id, first, limit)

    async def _archived(self, row: MatchRow) -> list[bytes]:
        key = (row.match_id, row.archived_hash)
        if key in self._cache:
            self._cache.move_to_end(key)
            return self._cache[key][0]
        task = self._loading.get(key)
        if task is None:
            task = self._loading[key] = asyncio.ensure_future(self._load(row))
            # The outcome is looked at even if every caller has left by then.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(task)

    async def _load(self, row: MatchRow) -> list[bytes]:
        key = (row.match_id, row.archived_hash)
        try:
            async with self._readers:
                records = await self._read(row)
        finally:
            del self._loading[key]
        size = sum(map(len, records))
        self._cache[key] = records, size
        self._held += size
        while self._held > self._cache_bytes and len(self._cache) > 1:
            _, (_, left) = self._cache.popitem(last=False)
            self._held -= left
        return records

    async def _read(self, row: MatchRow) -> list[bytes]:
        match_id = row.match_id
        if self._folder is None:
            self._log.error("archive_not_named", match=match_id.hex(), hint="set archive_dir")
            raise away(match_id)
        path = path_of(self._folder, match_id)
        try:
            return await asyncio.to_thread(read, path, match_id, row.archived, row.archived_hash)
        except OSError as error:
            self._log.error("archive_unreadable", match=match_id.hex(), file=str(path), error=error.strerror)
            raise away(match_id) from error
        except BadArchive as error:
            self._log.error("archive_damaged", match=match_id.hex(), file=str(path), error=str(error))
            raise ledger_broken(match_id, f"its file in the archive is damaged: {error}") from error


def away(match_id: bytes) -> ServiceError:
    """The ledger of a match is in an archive that cannot be read here now. Tells players what to tell the operator."""
    return ServiceError(
        error_pb2.REASON_UNAVAILABLE,
        f"the ledger of match {match_id.hex()} is in an archive that this server cannot read now: its operator must "
        "make the archive readable (setting archive_dir), or bring the match back (sixledger admin unarchive)",
        metadata={"match": match_id.hex(), "archive": "unreadable"},
    )
