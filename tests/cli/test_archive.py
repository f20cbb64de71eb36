"""`sixledger admin archive · unarchive`, with real servers on SQLite and PostgreSQL, and with crashes at every step."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sixledger.cli import archive as command
from sixledger.ledger.file import load
from sixledger.ledger.verify import verify
from sixledger.service import archive
from sixledger.service.config import Settings
from sixledger.service.keyring import Keyring
from sixledger.service.matches import wall_clock
from sixledger.service.store import RecordsArchived, SqliteStore, open_store
from sixledger.v1 import match_service_pb2 as pb
from sixledger.v1 import replay_service_pb2
from support.command_line import CommandLine, Ran, environment
from support.hosts import START_US, Clock, replica, request_id
from support.postgres import empty
from support.servers import Client, HostedTable, failing, serving, start

VALID = replay_service_pb2.VERDICT_VALID


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of an empty store that outlives a server."""
    if request.param == "postgresql":
        found = str(request.getfixturevalue("postgres_url"))
        asyncio.run(empty(found))
        return found
    return f"sqlite:{tmp_path / 'matches.db'}"


@pytest.fixture
def here(tmp_path: Path) -> tuple[str | Path, ...]:
    """Options of the commands: where the files and the keys are."""
    Keyring.generate().save(tmp_path / "keys.json")
    return ("--key", tmp_path / "keys.json", "--origin", "test.example")


def settings(url: str, folder: Path, **changes: Any) -> Settings:
    return Settings(
        listen="127.0.0.1:0",
        store=url,
        data_dir=folder,
        key_file=folder / "keys.json",
        origin="test.example",
        watch_tick_s=0.05,
        archive_dir=folder / "archive",
        **changes,
    )


async def seen(client: Client, table: HostedTable) -> list[bytes]:
    """All that the viewers of a match that has ended are shown over the wire."""
    match_id = table.match_id
    found: list[Any] = [await client.match.GetMatch(pb.GetMatchRequest(match_id=match_id))]
    for token in ("", *(player.token for player in table.players)):
        where: dict[str, Any] = {"match_id": match_id, "token": token}
        found.append(await client.match.GetView(pb.GetViewRequest(**where)))
        found.append(await client.match.ListRecords(pb.ListRecordsRequest(**where)))
        pieces = [piece async for piece in client.match.ExportLedger(pb.ExportLedgerRequest(**where))]
        assert verify(b"".join(piece.chunk for piece in pieces)).verdict == VALID
        found += pieces
        found += [
            item
            async for item in client.match.WatchMatch(pb.WatchMatchRequest(**where, first_seq=5))
            if not item.HasField("caught_up")  # it has the time of now
        ]
    return [each.SerializeToString(deterministic=True) for each in found]


def summary(ran: Ran) -> dict[str, Any]:
    assert ran.status == 0, ran
    return dict(json.loads(ran.out))


async def test_archived_matches_are_served_as_before_and_come_back(
    quick: CommandLine, tmp_path: Path, here: tuple[str | Path, ...], url: str
) -> None:
    """On PostgreSQL a server runs all the while; on SQLite it is stopped for the command."""
    folder, shared = tmp_path / "archive", url.startswith("postgresql")

    async def admin(*arguments: str | Path) -> Ran:
        return await asyncio.to_thread(quick, "admin", *arguments, "--store", url)

    with_key = ("--to", folder, *here, "--json")
    done: dict[str, Any] = {}
    async with serving(settings(url, tmp_path)) as (_, client):
        table, running = await start(client), await start(client)
        requests = await table.play(Random(1))
        replies = [await client.match.SubmitCommand(request) for request in requests]
        before = await seen(client, table)
        if shared:
            young = summary(await admin("archive", *with_key))
            assert (young["archived"], young["younger"]) == (0, 0)
            done = summary(await admin("archive", "--older-than", "0s", *with_key))
            assert (done["archived"], done["failed"]) == (1, [])
            assert await seen(client, table) == before
            assert [await client.match.SubmitCommand(request) for request in requests] == replies
    if not shared:
        done = summary(await admin("archive", "--older-than", "0s", *with_key))
    total = len(requests) + 3
    path = folder / f"{table.match_id.hex()}.ledger.jsonl.gz"
    assert (done["archived"], done["records"], done["bytes"]) == (1, total, len(path.read_bytes()))
    assert verify(path).verdict == VALID
    async with serving(settings(url, tmp_path)) as (_, client):
        assert await seen(client, table) == before
        assert [await client.match.SubmitCommand(request) for request in requests] == replies
        info = (await client.match.GetMatch(pb.GetMatchRequest(match_id=running.match_id))).match
        assert info.status == pb.MATCH_STATUS_RUNNING
    async with serving(replace(settings(url, tmp_path), archive_dir=None)) as (_, client):
        error = await failing(client.match.GetView(pb.GetViewRequest(match_id=table.match_id)))
        assert (error.reason, error.code.name) == ("UNAVAILABLE", "UNAVAILABLE")
        assert "archive_dir" in error.message
    again = await admin("archive", "--older-than", "0s", *with_key)
    assert summary(again)["archived"] == 0
    back = await admin("unarchive", table.match_id.hex(), "--from", folder)
    assert (back.status, back.out) == (0, f"{total} records are back in the store\n")
    assert json.loads(back.err)["act"] == "match_unarchived"
    here_again = await admin("unarchive", table.match_id.hex(), "--from", folder)
    assert here_again.out == "it is not archived: its records are here\n"
    async with serving(replace(settings(url, tmp_path), archive_dir=None)) as (_, client):
        assert await seen(client, table) == before


# -- many matches, without a server ---------------------------------------------------------------


async def aborted(url: str, matches: int, *, after_us: int = 0) -> dict[bytes, list[bytes]]:
    """Make matches that were opened in 2023 and ended so much later, and give their records."""
    made: dict[bytes, list[bytes]] = {}
    async with open_store(url) as store:
        clock = Clock()
        table = replica(store, clock)
        for _ in range(matches):
            match = await table.start(seats=2)
            await table.play(match, 2)
            token = match.owner_token
            clock.now_us = START_US + after_us
            abort = pb.AbortMatchRequest(match_id=match.match_id, owner_token=token, request_id=request_id())
            await table.servicer.AbortMatch(abort)
            clock.now_us = START_US
            made[match.match_id] = await store.records(match.match_id, 0, 100)
    return made


async def whereabouts(url: str, folder: Path, made: dict[bytes, list[bytes]]) -> tuple[set[bytes], set[bytes]]:
    """Check that no match has lost a record: those whose records are in the store, and those that are archived."""
    kept, away = set(), set()
    async with open_store(url) as store:
        for match_id, records in made.items():
            row = await store.match(match_id)
            assert row is not None
            if row.archived:
                path = archive.path_of(folder, match_id)
                assert archive.read(path, match_id, row.archived, row.archived_hash) == records
                with pytest.raises(RecordsArchived):
                    await store.records(match_id, 0, 100)
                away.add(match_id)
            else:
                assert await store.records(match_id, 0, 100) == records
                kept.add(match_id)
    return kept, away


class Cut(BaseException):
    """The power goes."""


#: What is called there, and at which call the power goes: in the work on the second match.
STEPS: dict[str, tuple[object, str, int]] = {
    "before the file": (os, "fdopen", 2),
    "before it is flushed": (os, "fsync", 3),  # the first match has its file flushed, and the folder
    "before it is proved": (archive, "prove", 2),
    "before it is read back": (archive, "read", 2),
    "before it has its name": (Path, "replace", 2),
    "before the folder is flushed": (archive, "_flush", 2),
    "before the records leave": (SqliteStore, "archive", 2),
    "after the records have left": (command, "_archive", 3),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_crash_at_any_step_loses_nothing_and_the_next_run_goes_on(
    quick: CommandLine, tmp_path: Path, here: tuple[str | Path, ...], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    url, folder = f"sqlite:{tmp_path / 'matches.db'}", tmp_path / "archive"
    made = asyncio.run(aborted(url, 3))
    arguments = ("admin", "archive", "--store", url, "--to", folder, *here, "--json")
    owner, name, at = STEPS[step]
    wrapped, calls = getattr(owner, name), count(1)

    def until_then(*given: Any, **named: Any) -> Any:
        if next(calls) == at:
            raise Cut
        return wrapped(*given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, until_then)
        with pytest.raises(Cut):
            quick(*arguments)
    kept, away = asyncio.run(whereabouts(url, folder, made))
    assert len(away) == (2 if step.startswith("after") else 1)
    assert summary(quick(*arguments))["archived"] == len(kept)
    assert asyncio.run(whereabouts(url, folder, made)) == (set(), set(made))


def test_archivers_are_killed_and_nothing_is_lost(tmp_path: Path, here: tuple[str | Path, ...], url: str) -> None:
    """Each run is ended with -9 while it works; what it left beside the files changes nothing."""
    folder = tmp_path / "archive"
    made = asyncio.run(aborted(url, 24))
    line = [sys.executable, "-m", "sixledger.cli.main", "admin", "archive", "--store", url, "--to", str(folder)]
    line += map(str, here)

    def begin() -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        return subprocess.Popen(line, stdout=pipe, stderr=pipe, cwd=tmp_path, env=environment(tmp_path))

    for wanted in (3, 10):
        with begin() as process:
            until = time.monotonic() + 30
            while len(list(folder.glob("*.gz"))) < wanted and process.poll() is None:
                assert time.monotonic() < until
                time.sleep(0.002)
            process.kill()
        kept, away = asyncio.run(whereabouts(url, folder, made))
        assert away
        assert kept
    if url.startswith("postgresql"):  # two at once, on what is left
        with begin() as one, begin() as other:
            assert (one.wait(60), other.wait(60)) == (0, 0)
    else:
        with begin() as one:
            assert one.wait(60) == 0
    assert asyncio.run(whereabouts(url, folder, made)) == (set(), set(made))


def test_the_command_says_what_it_would_do_and_what_it_did(
    quick: CommandLine, tmp_path: Path, here: tuple[str | Path, ...]
) -> None:
    url, folder = f"sqlite:{tmp_path / 'matches.db'}", tmp_path / "archive"
    made = asyncio.run(aborted(url, 3))
    records = sum(map(len, made.values()))
    to = ("admin", "archive", "--store", url, "--to", folder, *here)
    tried = quick(*to, "--dry-run")
    assert (tried.status, tried.out) == (0, f"would archive 3 matches with {records} records\n")
    assert not folder.exists()
    assert summary(quick(*to, "--limit", "1", "--json"))["archived"] == 1
    done = quick(*to)
    assert done.out.startswith("archived 2 matches with ")
    audit = json.loads(done.err)
    assert (audit["act"], audit["matches"], audit["folder"]) == ("matches_archived", 2, str(folder))
    assert (folder.stat().st_mode & 0o777, len(list(folder.iterdir()))) == (0o700, 3)


def test_a_match_is_as_old_as_its_last_record(quick: CommandLine, tmp_path: Path, here: tuple[str | Path, ...]) -> None:
    url, folder, minute = f"sqlite:{tmp_path / 'matches.db'}", tmp_path / "archive", 60_000_000
    old = asyncio.run(aborted(url, 2))
    young = asyncio.run(aborted(url, 1, after_us=50 * minute))
    minutes = (wall_clock() - START_US) // minute
    run = ("admin", "archive", "--store", url, "--to", folder, *here, "--json", "--older-than")
    for more in (f"{minutes + 5}m", "999999999d"):
        assert summary(quick(*run, more)) == {
            "folder": str(folder), "dry_run": False, "archived": 0, "records": 0, "bytes": 0, "younger": 0,
            "failed": [],
        }  # fmt: skip
    found = summary(quick(*run, f"{minutes - 25}m"))
    assert (found["archived"], found["younger"]) == (2, 1)
    assert asyncio.run(whereabouts(url, folder, old | young)) == (set(young), set(old))


def test_a_ledger_that_is_not_valid_stays_and_the_others_leave(
    quick: CommandLine, tmp_path: Path, here: tuple[str | Path, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, folder = f"sqlite:{tmp_path / 'matches.db'}", tmp_path / "archive"
    made = asyncio.run(aborted(url, 3))
    bad = min(made)

    async def spoil() -> None:
        async with open_store(url) as store:
            records = made[bad]
            assert await store.archive(bad, len(records), bytes(32))
            assert await store.unarchive(bad, [*records[:2], records[2][:-1] + b"?", *records[3:]])

    asyncio.run(spoil())
    ran = quick("admin", "archive", "--store", url, "--to", folder, *here)
    assert ran.status == 1
    assert ran.out.startswith(f"{bad.hex()}: its ledger is TAMPERED")
    assert "1 could not be archived, and stay as they are" in ran.out
    assert asyncio.run(whereabouts(url, folder, {each: made[each] for each in made if each != bad}))[0] == set()
    assert not archive.path_of(folder, bad).exists()


def test_a_file_that_was_changed_does_not_come_back(
    quick: CommandLine, tmp_path: Path, here: tuple[str | Path, ...]
) -> None:
    url, folder = f"sqlite:{tmp_path / 'matches.db'}", tmp_path / "archive"
    made = asyncio.run(aborted(url, 2))
    first, second = made
    assert quick("admin", "archive", "--store", url, "--to", folder, *here).status == 0
    path, other = archive.path_of(folder, first), archive.path_of(folder, second)
    back = ("admin", "unarchive", first.hex(), "--store", url, "--from", folder)
    whole = path.read_bytes()
    path.write_bytes(other.read_bytes())
    assert "is not what has left the store" in quick(*back).refused(1)
    text = gzip.decompress(whole).splitlines(keepends=True)
    path.write_bytes(gzip.compress(b"".join(text[:-1])))
    assert "its ledger is TRUNCATED" in quick(*back).refused(1)
    path.unlink()
    assert "cannot be read" in quick(*back).refused(1)
    path.write_bytes(whole)
    assert quick(*back).status == 0
    assert asyncio.run(whereabouts(url, folder, made)) == ({first}, {second})


@pytest.mark.parametrize(
    ("variables", "with_list", "expected"),
    [
        ({}, False, None),
        ({"SIXLEDGER_LISTEN": "127.0.0.1:0"}, False, None),
        ({"SIXLEDGER_LISTEN": "0.0.0.0:9000"}, False, "0.0.0.0:9000"),
        ({"SIXLEDGER_LISTEN": "0.0.0.0:9000"}, True, "listed.example"),
        ({"SIXLEDGER_LISTEN": "0.0.0.0:9000", "SIXLEDGER_ORIGIN": "test.example"}, False, "test.example"),
    ],
)
async def test_files_are_signed_under_the_name_of_the_servers_and_no_other(
    quick: CommandLine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    with_list: bool,
    expected: str | None,
) -> None:
    """By the settings, the key list, or the address where it was named; where all are silent it must be given."""
    url, folder, keys = f"sqlite:{tmp_path / 'matches.db'}", tmp_path / "archive", Keyring.generate()
    (keys.with_list(keys.signed_list("listed.example")) if with_list else keys).save(tmp_path / "keys.json")
    async with serving(replace(settings(url, tmp_path), origin=expected or "any.example")) as (_, client):
        table = await start(client)
        await table.play(Random(1))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    line = ("admin", "archive", "--older-than", "0s", "--store", url, "--to", folder, "--key", tmp_path / "keys.json")
    ran = await asyncio.to_thread(quick, *line)
    if expected is None:
        assert "--origin" in ran.refused(2)
        assert not folder.exists()
    else:
        assert ran.status == 0, ran.err
        assert load(archive.path_of(folder, table.match_id)).origin == expected


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("archive",), "--to"),
        (("archive", "--to", "x", "--older-than", "soon"), "'soon' is no time span"),
        (("archive", "--to", "x"), "key file"),
        (("archive", "--to", "x", "--store", "memory:"), "memory"),
        (("unarchive", "3f0c", "--from", "x"), "32 hexadecimal digits"),
        (("unarchive", "0" * 32), "--from"),
        (("unarchive", "0" * 32, "--from", "x"), "there is no match"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(quick: CommandLine, arguments: tuple[str, ...], words: str) -> None:
    assert quick("admin", "keys", "list").status == 0  # makes a store
    assert words in quick("admin", *arguments).refused(2)


async def test_names_of_archived_matches_are_erased_like_others(
    quick: CommandLine, tmp_path: Path, here: tuple[str | Path, ...]
) -> None:
    url, folder = f"sqlite:{tmp_path / 'matches.db'}", tmp_path / "archive"
    async with serving(settings(url, tmp_path)) as (_, client):
        table = await start(client)
        named = pb.CreateMatchRequest(game="nimmt", seats=2)
        created = await client.match.CreateMatch(named)
        join = pb.JoinMatchRequest(match_id=created.match_id, seat=1, display_name="Ada Example")
        await client.match.JoinMatch(join)
        abort = pb.AbortMatchRequest(
            match_id=created.match_id, owner_token=created.owner_token, request_id=request_id()
        )
        await client.match.AbortMatch(abort)
    assert table.match_id != created.match_id
    run = ("admin", "archive", "--older-than", "0s", "--store", url, "--to", folder, *here)
    assert (await asyncio.to_thread(quick, *run)).status == 0
    assert b"Ada Example" not in gzip.decompress(archive.path_of(folder, created.match_id).read_bytes())
    shown = pb.GetMatchRequest(match_id=created.match_id)
    async with serving(settings(url, tmp_path)) as (_, client):
        assert [seat.display_name for seat in (await client.match.GetMatch(shown)).match.seats] == ["", "Ada Example"]
    erase = ("admin", "erase-names", created.match_id.hex(), "--store", url)
    assert "erased 1 display name" in (await asyncio.to_thread(quick, *erase)).out
    async with serving(settings(url, tmp_path)) as (_, client):
        assert [seat.display_name for seat in (await client.match.GetMatch(shown)).match.seats] == ["", ""]
