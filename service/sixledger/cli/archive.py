"""`sixledger admin archive · unarchive`: ledgers of ended matches leave the store for files, and come back."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, validators
from google.protobuf.message import DecodeError
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text
from sixledger.cli.failures import INVALID, OK, Failure, one_line, unusable
from sixledger.cli.offline import DataDir, StoreUrl, with_store
from sixledger.cli.terminal import err, out, write_json
from sixledger.ledger.faults import LedgerFault
from sixledger.ledger.heads import HeadSigner
from sixledger.ledger.key_list import SignedKeyList
from sixledger.ledger.origin_signer import OriginSigner
from sixledger.ledger.records import read_body
from sixledger.service import archive as files
from sixledger.service.audit import audit_here
from sixledger.service.config import PREFIX, Settings
from sixledger.service.keyring import Keyring
from sixledger.service.matches import PAGE, wall_clock
from sixledger.service.store import Cursor, RecordsArchived, Store
from sixledger.v1 import match_service_pb2, record_pb2

#: Statuses of matches to which nothing is appended any more.
_OVER = (match_service_pb2.MATCH_STATUS_ENDED, match_service_pb2.MATCH_STATUS_ABORTED)
#: Matches listed at a time.
_MATCHES = 500
_SPAN = re.compile(r"(\d{1,9})([smhd])")
_MICROSECONDS = {"s": 10**6, "m": 60 * 10**6, "h": 3600 * 10**6, "d": 86400 * 10**6}

Json = Annotated[bool, Parameter("--json", negative="", help="Print JSON for a program.")]


@dataclass
class Summary:
    """What became of the matches that were looked at."""

    folder: Path
    dry_run: bool = False
    #: Matches that are archived now, or would be, with their records and the bytes of their files.
    archived: int = 0
    records: int = 0
    bytes: int = 0
    #: Matches whose last record is younger than asked for.
    younger: int = 0
    #: Why matches stay where they are.
    failed: dict[str, str] = field(default_factory=dict)


def archive(
    *,
    older_than: Annotated[
        str, Parameter(help="Only matches whose last record is older, as 30d, 12h, 90m or 0s.")
    ] = "30d",
    to: Annotated[
        Path | None, Parameter(help="Folder for the files, made if there is none. Default: SIXLEDGER_ARCHIVE_DIR.")
    ] = None,
    limit: Annotated[
        int | None, Parameter(validator=validators.Number(gte=1, lt=2**31), help="At most so many matches.")
    ] = None,
    dry_run: Annotated[bool, Parameter(negative="", help="Only say what would be done.")] = False,
    key: Annotated[
        Path | None, Parameter(help="Key file of the servers. Default: SIXLEDGER_KEY_FILE, or that of the data folder.")
    ] = None,
    origin: Annotated[
        str | None,
        Parameter(
            help="Name under which the servers sign. Default: SIXLEDGER_ORIGIN, that of the key list, SIXLEDGER_LISTEN."
        ),
    ] = None,
    data_dir: DataDir = None,
    store: StoreUrl = None,
    as_json: Json = False,
) -> int:
    """Take the ledgers of ended and aborted matches out of the store, into a file each.

    Each file is written, flushed, read again and verified by a whole replay before anything leaves the store. Match
    row, record 0, names and idempotency keys stay. Servers with archive_dir set to the folder show the matches as
    before. It may be stopped at any time, and run again. Exit status 1 if some could not be archived; they stay.
    """
    settings = _settings(data_dir, store, key, origin)
    before_us = max(wall_clock() - _span(older_than), 0)
    folder = to or settings.archive_dir
    if folder is None:
        raise unusable("name the folder of the archive with --to, or as SIXLEDGER_ARCHIVE_DIR")
    signer = _signer(settings)
    summary = Summary(folder, dry_run)

    async def work(opened: Store) -> None:
        try:
            if not dry_run:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = [each async for each in _candidates(opened, before_us)]
            await _archive_all(opened, found, before_us, limit, signer, summary)
        except OSError as error:
            raise Failure(f"cannot write to {folder}: {error.strerror}; what was archived so far is safe") from error

    try:
        with_store(data_dir, store, work)
    finally:  # what was done is told, even if something failed then
        if summary.archived and not dry_run:
            audit_here(
                "matches_archived", matches=summary.archived, records=summary.records, folder=str(folder.absolute())
            )
    _tell(summary, as_json)
    return INVALID if summary.failed else OK


def unarchive(
    match: Annotated[str, Parameter(help="Match id, 32 hexadecimal digits.")],
    /,
    *,
    source: Annotated[
        Path | None, Parameter("--from", help="Folder of the archive. Default: SIXLEDGER_ARCHIVE_DIR.")
    ] = None,
    data_dir: DataDir = None,
    store: StoreUrl = None,
    as_json: Json = False,
) -> None:
    """Bring the ledger of a match back into the store. Its file is verified first, and stays where it is."""
    if not re.fullmatch("[0-9a-fA-F]{32}", match):
        raise unusable(f"{match!r} is no match id: it has 32 hexadecimal digits")
    match_id = bytes.fromhex(match)
    folder = source or _settings(data_dir, store, None, None).archive_dir
    if folder is None:
        raise unusable("name the folder of the archive with --from, or as SIXLEDGER_ARCHIVE_DIR")
    path = files.path_of(folder, match_id)

    async def work(opened: Store) -> int:
        row = await opened.match(match_id)
        if row is None:
            raise ValueError(f"there is no match {match_id.hex()} here")
        if not row.archived:
            return 0
        try:
            await asyncio.to_thread(files.prove, path)
            records = await asyncio.to_thread(files.read, path, match_id, row.archived, row.archived_hash)
        except files.BadArchive as error:
            raise Failure(f"{path} is not what has left the store: {one_line(str(error))}") from error
        except OSError as error:
            raise Failure(f"{path} cannot be read: {error.strerror}") from error
        if not await opened.unarchive(match_id, records):
            raise Failure(f"match {match_id.hex()} was changed meanwhile; look at it again")
        return len(records)

    records = with_store(data_dir, store, work)
    if records:
        audit_here("match_unarchived", match=match_id.hex(), records=records)
    if as_json:
        write_json({"match": match_id.hex(), "records": records})
    else:
        text = f"{records:,} records are back in the store" if records else "it is not archived: its records are here"
        out().print(Text(text), soft_wrap=True)


# -- archiving -----------------------------------------------------------------------------------


async def _candidates(store: Store, before_us: int) -> AsyncIterator[bytes]:
    """The matches that were opened long enough ago and have ended, oldest first of each status."""
    for status in _OVER:
        after: Cursor | None = None
        while page := await store.archivable(status, before_us, after=after, limit=_MATCHES):
            for each in page:
                yield each.match_id
            after = page[-1]


async def _archive_all(
    store: Store, found: list[bytes], before_us: int, limit: int | None, signer: HeadSigner, summary: Summary
) -> None:
    console = err()
    columns = (TextColumn("archiving"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(compact=True))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=len(found) if limit is None else min(limit, len(found)))
        for match_id in found:
            if summary.archived == limit:
                return
            before = summary.archived
            try:
                await _archive(store, match_id, before_us, signer, summary)
            except files.BadArchive as error:
                summary.failed[match_id.hex()] = one_line(str(error))
            if limit is None or summary.archived > before:
                progress.advance(task)


async def _archive(store: Store, match_id: bytes, before_us: int, signer: HeadSigner, summary: Summary) -> None:
    """Archive one match. Raises BadArchive, OSError or StoreError; then it stays as it is."""
    stored: list[bytes] = []
    try:
        while page := await store.records(match_id, len(stored), PAGE):
            stored += page
            if len(page) < PAGE:
                break
    except RecordsArchived:
        return  # another one was faster
    if len(stored) < 2:
        raise files.BadArchive("it has ended, and has no records behind record 0")
    try:
        last_us = read_body(record_pb2.Record.FromString(stored[-1])).time_us
    except (DecodeError, LedgerFault) as error:
        raise files.BadArchive(f"its last record cannot be read: {error}") from error
    if last_us >= before_us:
        summary.younger += 1
        return
    if not summary.dry_run:
        last_hash, size = await asyncio.to_thread(files.write, summary.folder, match_id, stored, signer)
        if not await store.archive(match_id, len(stored), last_hash):
            raise files.BadArchive("it was changed meanwhile")
        summary.bytes += size
    summary.archived += 1
    summary.records += len(stored)


# -- around it -----------------------------------------------------------------------------------


def _settings(data_dir: Path | None, store: str | None, key: Path | None, origin: str | None) -> Settings:
    try:
        return Settings.from_environment(os.environ, data_dir=data_dir, store=store, key_file=key, origin=origin)
    except ValueError as error:
        raise unusable(str(error)) from None


def _signer(settings: Settings) -> HeadSigner:
    """What signs as the servers do, by their key file."""
    path = settings.key_path
    if path is None:
        raise unusable("a store in memory keeps nothing: name a file or a database")
    try:
        keyring = Keyring.load(path)
        return OriginSigner(keyring.signing_keys, keyring.signed_list(_origin(settings, keyring)))
    except OSError as error:
        raise unusable(
            f"key file {path}: {error.strerror}; name that of the servers with --key: the files are signed with it"
        ) from None
    except ValueError as error:
        raise unusable(str(error)) from None


def _origin(settings: Settings, keyring: Keyring) -> str:
    """The name under which the servers sign: by the settings, by the key list, or their address if that was named.

    The default address is a guess: servers may have got theirs as an option, and no file remembers it.
    """
    if settings.origin:
        return settings.origin
    if keyring.key_list:
        return SignedKeyList.parse(keyring.key_list).content.origin
    if os.environ.get(f"{PREFIX}LISTEN") and not settings.listen.endswith(":0"):
        return settings.listen
    raise unusable(
        "name with --origin under which name the servers sign: the files are signed with it. A server says it when it "
        "starts; where no origin was set it is the server's address"
    )


def _span(text: str) -> int:
    """Microseconds of a time span."""
    found = _SPAN.fullmatch(text)
    if found is None:
        raise unusable(f"{text!r} is no time span: it is a number and s, m, h or d, as in 30d")
    return int(found[1]) * _MICROSECONDS[found[2]]


def _tell(summary: Summary, as_json: bool) -> None:
    if as_json:
        write_json(
            {
                "folder": str(summary.folder),
                "dry_run": summary.dry_run,
                "archived": summary.archived,
                "records": summary.records,
                "bytes": summary.bytes,
                "younger": summary.younger,
                "failed": [{"match": match, "why": why} for match, why in summary.failed.items()],
            }
        )
        return
    console = out()
    for match, why in summary.failed.items():
        console.print(Text(f"{match}: {why}", "bad"), soft_wrap=True)
    did = "would archive" if summary.dry_run else "archived"
    text = f"{did} {summary.archived:,} match{'es' * (summary.archived != 1)} with {summary.records:,} records"
    if not summary.dry_run:
        text += f" in {summary.folder} ({summary.bytes:,} bytes)"
    if summary.younger:
        text += f"; {summary.younger:,} are younger"
    if summary.failed:
        text += f"; {len(summary.failed):,} could not be archived, and stay as they are"
    console.print(Text(text), soft_wrap=True)
