"""The archive of ledgers: what is written is proved first, what is read is checked, and viewers see what they saw."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from sixledger.ledger.heads import HeadSigner
from sixledger.ledger.verify import verify
from sixledger.service import archive
from sixledger.service.archive import BadArchive, Ledgers
from sixledger.service.errors import ServiceError
from sixledger.service.store import MatchRow, MemoryStore
from sixledger.v1 import error_pb2, record_pb2, replay_service_pb2
from sixledger.v1 import match_service_pb2 as pb
from support.hosts import KEYRING, Replica, StartedMatch, StoreAround, replica, request_id

SIGNER = HeadSigner("test.example", KEYRING.signing_key)


class Reads(StoreAround):
    """A store that lets a test act before the records are read, and counts lookups of the row."""

    def __init__(self) -> None:
        super().__init__(MemoryStore())
        self.rows = 0
        self.before_records: Callable[[], Any] | None = None

    async def match(self, match_id: bytes) -> MatchRow | None:
        self.rows += 1
        return await super().match(match_id)

    async def records(self, match_id: bytes, first: int, limit: int) -> list[bytes]:
        if self.before_records is not None and first:
            await self.before_records()
        return await super().records(match_id, first, limit)


@pytest.fixture
async def store() -> AsyncIterator[Reads]:
    async with Reads() as store:
        yield store


async def played(table: Replica) -> StartedMatch:
    match = await table.start(seats=2)
    await table.play(match)
    return match


async def leave(store: Reads, match_id: bytes, folder: Path) -> list[bytes]:
    """Archive a match; its records."""
    stored = await store.records(match_id, 0, 100_000)
    last_hash, _ = archive.write(folder, match_id, stored, SIGNER)
    assert await store.archive(match_id, len(stored), last_hash)
    return stored


def within(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def refused(call: Any) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        await call
    return caught.value


# -- the file ------------------------------------------------------------------------------------


async def test_a_file_is_valid_for_its_owner_alone_and_the_same_each_time(store: Reads, tmp_path: Path) -> None:
    match = await played(replica(store))
    stored = await store.records(match.match_id, 0, 1000)
    last_hash, size = archive.write(tmp_path, match.match_id, stored, SIGNER)
    path = tmp_path / f"{match.match_id.hex()}.ledger.jsonl.gz"
    assert within(tmp_path) == [path]
    assert (path.stat().st_mode & 0o777, path.stat().st_size) == (0o600, size)
    assert verify(path, trusted=[SIGNER.verifier_key]).verdict == replay_service_pb2.VERDICT_VALID
    before = path.read_bytes()
    assert archive.write(tmp_path, match.match_id, stored, SIGNER) == (last_hash, size)
    assert path.read_bytes() == before
    assert archive.read(path, match.match_id, len(stored), last_hash) == stored


async def test_a_file_holds_no_display_name(store: Reads, tmp_path: Path) -> None:
    table = replica(store)
    created = await table.servicer.CreateMatch(pb.CreateMatchRequest(game="nimmt", seats=2))
    join = pb.JoinMatchRequest(match_id=created.match_id, seat=0, display_name="Ada Example")
    await table.servicer.JoinMatch(join)
    token = created.owner_token
    abort = pb.AbortMatchRequest(match_id=created.match_id, owner_token=token, request_id=request_id())
    await table.servicer.AbortMatch(abort)
    await leave(store, created.match_id, tmp_path)
    assert await store.display_names(created.match_id) == {0: "Ada Example"}
    assert b"Ada Example" not in gzip.decompress(archive.path_of(tmp_path, created.match_id).read_bytes())


@pytest.mark.parametrize("what", ["running", "changed", "cut"])
async def test_what_is_not_valid_is_not_written(store: Reads, tmp_path: Path, what: str) -> None:
    table = replica(store)
    match = await table.start(seats=2)
    await table.play(match, 3 if what == "running" else 10_000)
    stored = await store.records(match.match_id, 0, 1000)
    if what == "changed":
        record = record_pb2.Record.FromString(stored[2])
        record.openings[0].value += b"\0"
        stored[2] = record.SerializeToString()
    elif what == "cut":
        stored[5] = stored[5][:-3]
    with pytest.raises(BadArchive, match=r"INCOMPLETE|BAD_OPENING|TAMPERED|cannot be written"):
        archive.write(tmp_path, match.match_id, stored, SIGNER)
    assert within(tmp_path) == []


async def test_a_store_that_would_get_other_bytes_back_keeps_its_records(store: Reads, tmp_path: Path) -> None:
    """The same fields in another order are the same ledger, and not what the store has."""
    match = await played(replica(store))
    stored = await store.records(match.match_id, 0, 1000)
    record = record_pb2.Record.FromString(stored[3])
    last = record_pb2.Record(hash=record.hash).SerializeToString()
    record.ClearField("hash")
    stored[3] = last + record.SerializeToString()
    with pytest.raises(BadArchive, match="would not come back"):
        archive.write(tmp_path, match.match_id, stored, SIGNER)
    assert within(tmp_path) == []


async def test_every_line_of_a_file_is_checked_when_it_is_read(store: Reads, tmp_path: Path) -> None:
    match = await played(replica(store))
    other = await played(replica(store))
    stored = await leave(store, match.match_id, tmp_path)
    foreign = await leave(store, other.match_id, tmp_path)
    row = await store.match(match.match_id)
    assert row is not None
    path = archive.path_of(tmp_path, match.match_id)
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    for number in range(len(stored)):
        for change in ("drop", "double", "opening", "body"):
            changed = list(lines)
            value = json.loads(lines[number + 1])
            if change == "drop":
                del changed[number + 1]
            elif change == "double":
                changed.insert(number + 1, lines[number + 1])
            elif change == "opening":
                if not value["openings"]:
                    continue
                value["openings"].pop()
                changed[number + 1] = json.dumps(value, separators=(",", ":")).encode() + b"\n"
            else:
                value["body"] = value["body"][:8] + ("A" if value["body"][8] != "A" else "B") + value["body"][9:]
                changed[number + 1] = json.dumps(value, separators=(",", ":")).encode() + b"\n"
            path.write_bytes(gzip.compress(b"".join(changed)))
            with pytest.raises(BadArchive):
                archive.read(path, match.match_id, len(stored), row.archived_hash)
    for data in (
        b"",
        b"{}",
        gzip.compress(b"".join(lines))[:-20],
        archive.path_of(tmp_path, other.match_id).read_bytes(),
    ):
        path.write_bytes(data)
        with pytest.raises(BadArchive):
            archive.read(path, match.match_id, len(stored), row.archived_hash)
    with pytest.raises(BadArchive, match="last record is another one"):
        archive.read(archive.path_of(tmp_path, other.match_id), other.match_id, len(foreign), row.archived_hash)


# -- serving it ----------------------------------------------------------------------------------


async def seen(table: Replica, match: StartedMatch) -> list[bytes]:
    """All that viewers of a match that has ended are shown."""
    found: list[Any] = [await table.servicer.GetMatch(pb.GetMatchRequest(match_id=match.match_id))]
    found.append(await table.servicer.ListMatches(pb.ListMatchesRequest()))
    for token in ("", *match.tokens):
        where: dict[str, Any] = {"match_id": match.match_id, "token": token}
        found.append(await table.servicer.GetView(pb.GetViewRequest(**where)))
        first = 0
        while True:
            page = await table.servicer.ListRecords(pb.ListRecordsRequest(**where, first_seq=first, page_size=9))
            found.append(page)
            if page.head:
                break
            first = page.next_seq
        exported = [piece async for piece in table.servicer.ExportLedger(pb.ExportLedgerRequest(**where))]
        report = verify(b"".join(piece.chunk for piece in exported), trusted=[SIGNER.verifier_key])
        assert report.verdict == replay_service_pb2.VERDICT_VALID
        found += exported
        for first in (0, 7):
            watch = table.servicer.WatchMatch(pb.WatchMatchRequest(**where, first_seq=first))
            found += [item async for item in watch]
    return [each.SerializeToString(deterministic=True) for each in found]


@pytest.mark.parametrize("when", ["by a server that has it in memory", "by one that has not"])
async def test_viewers_see_an_archived_match_as_before(store: Reads, tmp_path: Path, when: str) -> None:
    clocked = replica(store, archive=tmp_path)
    match = await played(clocked)
    before = await seen(clocked, match)
    await leave(store, match.match_id, tmp_path)
    if when.endswith("not"):
        clocked = replica(store, clocked.clock, archive=tmp_path)
    assert await seen(clocked, match) == before


async def test_requests_that_are_sent_again_get_their_old_reply_for_ever(store: Reads, tmp_path: Path) -> None:
    table = replica(store, archive=tmp_path)
    match = await table.start(seats=2)
    replies: list[tuple[pb.SubmitCommandRequest, pb.SubmitCommandResponse]] = []
    while not (await table.host.fresh(match.match_id)).match.over:
        request = await table.request(match)
        replies.append((request, await table.servicer.SubmitCommand(request)))
    await leave(store, match.match_id, tmp_path)
    for each in (table, replica(store, table.clock, archive=tmp_path)):
        for request, reply in replies:
            assert await each.servicer.SubmitCommand(request) == reply
        changed = pb.SubmitCommandRequest()
        changed.CopyFrom(replies[0][0])
        changed.command = replies[2][0].command
        error = await refused(each.servicer.SubmitCommand(changed))
        assert error.reason == error_pb2.REASON_REQUEST_ID_REUSED


@pytest.mark.parametrize("returning", [False, True])
async def test_a_match_that_leaves_or_returns_while_it_is_read_is_read_whole(
    store: Reads, tmp_path: Path, returning: bool
) -> None:
    table = replica(store, archive=tmp_path)
    match = await played(table)
    records = await leave(store, match.match_id, tmp_path)
    if not returning:
        assert await store.unarchive(match.match_id, records)
    fresh = replica(store, table.clock, archive=tmp_path)
    await fresh.host.hosted(match.match_id)

    async def move() -> None:
        store.before_records = None
        row = await store.inner.match(match.match_id)
        assert row is not None
        if returning:
            assert await store.unarchive(match.match_id, records)
        else:
            last_hash = record_pb2.Record.FromString(records[-1]).hash
            assert await store.archive(match.match_id, len(records), last_hash)

    store.before_records = move
    other = replica(store, table.clock, archive=tmp_path)
    hosted = await other.host.hosted(match.match_id)
    assert (hosted.match.seq, hosted.match.over) == (len(records) - 1, True)
    shown = await other.host.records(hosted, 0, len(records))
    assert [record.data for record in shown] == records


@pytest.mark.parametrize("missing", ["no folder is named", "no folder", "no file", "not readable"])
async def test_without_its_file_a_match_is_away_and_says_what_to_do(store: Reads, tmp_path: Path, missing: str) -> None:
    folder = tmp_path / "archive"
    folder.mkdir()
    match = await played(replica(store))
    await leave(store, match.match_id, folder)
    path = archive.path_of(folder, match.match_id)
    if missing == "no folder":
        folder.rename(tmp_path / "elsewhere")
    elif missing == "no file":
        path.unlink()
    elif missing == "not readable":
        path.unlink()
        path.mkdir()  # as root everything can be read but a folder
    table = replica(store, archive=None if missing == "no folder is named" else folder)
    error = await refused(table.servicer.GetView(pb.GetViewRequest(match_id=match.match_id)))
    assert (error.reason, error.contract.status) == (error_pb2.REASON_UNAVAILABLE, "UNAVAILABLE")
    assert match.match_id.hex() in error.message
    assert "archive_dir" in error.message
    assert str(tmp_path) not in error.message
    listed = await table.servicer.ListMatches(pb.ListMatchesRequest())
    assert [each.match_id for each in listed.matches] == [match.match_id]


async def test_a_damaged_file_is_a_broken_ledger_and_no_path_is_told(store: Reads, tmp_path: Path) -> None:
    match = await played(replica(store))
    await leave(store, match.match_id, tmp_path)
    path = archive.path_of(tmp_path, match.match_id)
    path.write_bytes(path.read_bytes()[:200])
    table = replica(store, archive=tmp_path)
    error = await refused(table.servicer.GetView(pb.GetViewRequest(match_id=match.match_id)))
    assert (error.reason, error.contract.status) == (error_pb2.REASON_LEDGER_BROKEN, "DATA_LOSS")
    assert match.match_id.hex() in error.message
    assert str(tmp_path) not in error.message


async def test_ledgers_in_memory_are_bounded_and_each_is_read_once(
    store: Reads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = replica(store)
    matches = [await played(table) for _ in range(4)]
    sizes = [sum(map(len, await leave(store, match.match_id, tmp_path))) for match in matches]
    reads: list[str] = []
    read = archive.read

    def counted(path: Path, match_id: bytes, count: int, last_hash: bytes) -> list[bytes]:
        reads.append(match_id.hex())
        return read(path, match_id, count, last_hash)

    monkeypatch.setattr(archive, "read", counted)
    ledgers = Ledgers(store, tmp_path, cache_bytes=sum(sizes[:2]) + 10)
    for match in matches:
        await asyncio.gather(*(ledgers.records(match.match_id, first, 5) for first in range(0, 20, 5)))
        assert ledgers.held_bytes <= max(sum(sizes[:2]) + 10, *sizes)
    assert reads == [match.match_id.hex() for match in matches]
    await ledgers.records(matches[3].match_id, 1, 5)
    assert len(reads) == 4
    await ledgers.records(matches[0].match_id, 1, 5)
    assert len(reads) == 5
    tiny = Ledgers(store, tmp_path, cache_bytes=0)
    for first in range(3):
        await tiny.records(matches[0].match_id, first + 1, 1)
    assert len(reads) == 6


def test_the_folder_is_flushed_so_that_names_survive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is on the disk before it has its name, and the name before anything leaves the store."""
    synced: list[str] = []
    fsync = os.fsync

    def watch(handle: int) -> None:
        target = Path(f"/proc/self/fd/{handle}").readlink()
        synced.append("folder" if target == tmp_path else "file")
        assert ("folder" in synced) == bool(list(tmp_path.glob("*.gz")))
        fsync(handle)

    async def make() -> tuple[bytes, list[bytes]]:
        async with Reads() as store:
            match = await played(replica(store))
            return match.match_id, await store.records(match.match_id, 0, 1000)

    match_id, stored = asyncio.run(make())
    monkeypatch.setattr(os, "fsync", watch)
    archive.write(tmp_path, match_id, stored, SIGNER)
    assert synced == ["file", "folder"]
