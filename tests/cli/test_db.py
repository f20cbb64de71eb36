"""`sixledger db`, and `serve` on PostgreSQL: what operators type."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sixledger.cli.failures import INVALID, UNUSABLE
from sixledger.client import Client
from sixledger.service.store.postgres_migrations import known
from support.command_line import CommandLine, environment
from support.postgres import PostgresProxy, PostgresServer, drop_database, new_database


@pytest.fixture
def url(postgres_server: PostgresServer) -> Iterator[str]:
    """A database without tables."""
    url = new_database(postgres_server, migrated=False)
    yield url
    drop_database(postgres_server, url)


def test_tables_are_made_and_told_of(quick: CommandLine, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIXLEDGER_DSN", url)
    behind = quick("db", "status")
    assert (behind.status, "0001" in behind.out, "pending" in behind.out) == (1, True, True)
    made = quick("db", "migrate")
    steps = "".join(f"applied {each.version:04} {each.name}\n" for each in known())
    current = f"the tables have version {len(known())}, as this release needs\n"
    assert (made.status, made.out) == (0, steps + current)
    assert quick("db", "migrate").out == current
    now = quick("db", "status")
    assert (now.status, "pending" in now.out) == (0, False)


def test_programs_get_json(quick: CommandLine, url: str) -> None:
    behind = quick("db", "status", "--dsn", url, "--json")
    assert behind.status == 1
    steps = [{"version": each.version, "name": each.name, "checksum": each.checksum} for each in known()]
    newest, numbers = len(steps), [each.version for each in known()]
    assert json.loads(behind.out) == {"version": 0, "applied": [], "pending": steps}
    assert json.loads(quick("db", "migrate", "--dsn", url, "--json").out) == {"applied": numbers, "version": newest}
    found = json.loads(quick("db", "status", "--dsn", url, "--json").out)
    assert all(each.pop("applied_at").startswith("20") for each in found["applied"])
    assert found == {"version": newest, "applied": steps, "pending": []}


def test_the_store_of_the_server_is_the_default(quick: CommandLine, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIXLEDGER_STORE", url)
    assert quick("db", "migrate").status == 0


def test_many_that_migrate_at_once_do_it_once(url: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sixledger.cli.main", "db", "migrate", "--json"]
    variables = environment(tmp_path) | {"SIXLEDGER_DSN": url}
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=variables) for _ in range(3)
    ]
    said = [json.loads(process.communicate(timeout=60)[0]) for process in running]
    assert sorted(each["applied"] for each in said) == [[], [], [each.version for each in known()]]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("status",), UNUSABLE, "name the database with --dsn or SIXLEDGER_DSN"),
        (("migrate", "--dsn", "sqlite:x.db"), UNUSABLE, "name the database with --dsn"),
        (("status", "--dsn", "postgresql://u:hunter2@host:x/db"), UNUSABLE, "the URL of a PostgreSQL database"),
        (("status", "--dsn", "postgresql://u:hunter2@127.0.0.1:1/db"), INVALID, "no connection to the database"),
        (("migrate", "--dsn", "postgresql://u:hunter2@h/db?sslmode=hunter2"), INVALID, "does not understand the URL"),
    ],
)
def test_what_cannot_work_is_said_in_one_line_without_a_password(
    quick: CommandLine, arguments: tuple[str, ...], status: int, message: str
) -> None:
    complaint = quick("db", *arguments).refused(status)
    assert message in complaint
    assert "hunter2" not in complaint


def test_serve_says_in_one_line_why_it_cannot_start(sixledger: CommandLine, url: str) -> None:
    serve = ("serve", "--listen", "127.0.0.1:0", "--store")
    assert sixledger(*serve, url).refused(INVALID) == (
        f"the database has no tables yet, this release needs version {len(known())}: "
        "run `sixledger db migrate` with this release, then start the server"
    )
    for store, status, message in (
        ("postgresql://u:hunter2@127.0.0.1:1/db", INVALID, "cannot open the store: no connection to the database"),
        ("postgresql://u:hunter2@host:x/db", UNUSABLE, "the URL of a PostgreSQL database"),
    ):
        complaint = sixledger(*serve, store).refused(status)
        assert message in complaint
        assert "hunter2" not in complaint


async def test_serve_plays_on_postgresql_and_never_tells_the_password(url: str, tmp_path: Path) -> None:
    async with PostgresProxy(url) as proxy:
        with_password = proxy.url.replace("postgres:@", "postgres:hunter2@")
        assert "hunter2" in with_password
        variables = environment(tmp_path) | {
            "SIXLEDGER_STORE": with_password, "SIXLEDGER_POSTGRES_MIGRATE": "yes", "SIXLEDGER_LOG_LEVEL": "debug",
        }  # fmt: skip
        log = tmp_path / "log"

        def serve_and_play() -> tuple[str, int]:
            with log.open("wb") as errors:
                process = subprocess.Popen(
                    [sys.executable, "-m", "sixledger.cli.main", "serve", "--listen", "127.0.0.1:0"],
                    stdout=subprocess.PIPE, stderr=errors, text=True, cwd=tmp_path, env=variables,
                )  # fmt: skip
            assert process.stdout is not None
            said = ""
            while "stop" not in said:
                line = process.stdout.readline()
                if not line:
                    break
                said += line
            address = next(line.split()[-1] for line in said.splitlines() if "listening on" in line)
            with Client(address) as client:
                client.matches.create("nimmt", seats=2)
            process.send_signal(signal.SIGTERM)
            rest, _ = process.communicate(timeout=30)
            return said + rest, process.returncode

        said, status = await asyncio.to_thread(serve_and_play)
        assert status == 0
        written = said + log.read_text()
        assert "postgresql:…" in written
        for each in known():
            assert f"the tables were brought to version {each.version} ({each.name})" in written
        assert "the database has no synchronous standby" in written
        assert "hunter2" not in written
