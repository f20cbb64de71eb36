"""Stores by URL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sixledger.service.store.base import Store
from sixledger.service.store.memory import MemoryStore
from sixledger.service.store.postgres_settings import PostgresSettings
from sixledger.service.store.sealing import Seal
from sixledger.service.store.sqlite import SqliteStore

#: Schemes of URLs that name a PostgreSQL database.
POSTGRES_SCHEMES = ("postgres", "postgresql")


def open_store(url: str, *, postgres: PostgresSettings | None = None, seal: Seal | None = None) -> Store:
    """The store that `url` names, not opened yet: use it with `async with`, or call its `open`.

    `memory:` keeps everything until the process ends. `sqlite:PATH` is a file, made if there is none;
    the path is relative to the current folder, or absolute after `sqlite:/` or `sqlite:///`.
    `postgresql://USER:PASSWORD@HOST:PORT/DATABASE` (or `postgres://`) is a database, which works as `postgres` says.
    Root secrets are kept sealed by `seal`.

    Raises ValueError for any other URL, or if a package is missing. The message never repeats the URL, which may hold
    a password.
    """
    store = _store(url, postgres)
    store.seal = seal
    return store


def _store(url: str, postgres: PostgresSettings | None) -> Store:
    scheme, colon, rest = url.partition(":")
    if colon and scheme in POSTGRES_SCHEMES:
        return _postgres(url, postgres)
    if not colon or scheme not in _SCHEMES:
        named = f"the scheme {scheme!r}" if colon and scheme.isalnum() else "a text without a known scheme"
        raise ValueError(f"a store is memory: or sqlite:PATH or postgresql://…, not {named}")
    return _SCHEMES[scheme](rest)


def _memory(rest: str) -> Store:
    if rest:
        raise ValueError("memory: takes nothing behind the colon")
    return MemoryStore()


def _sqlite(rest: str) -> Store:
    path = "/" + rest.lstrip("/") if rest.startswith("///") else rest
    if not path or path.startswith("//") or path.endswith("/"):
        raise ValueError(
            "sqlite: needs the path of a file, as in sqlite:matches.db or sqlite:/var/lib/sixledger/matches.db"
        )
    if path == ":memory:":
        raise ValueError("sqlite: is for files; use memory: for a store that ends with the process")
    return SqliteStore(path)


def _postgres(url: str, settings: PostgresSettings | None) -> Store:
    with needs_asyncpg():
        from sixledger.service.store.postgres import PostgresStore
    return PostgresStore(url, settings)


@contextmanager
def needs_asyncpg() -> Iterator[None]:
    """Say what to install if the driver is missing. Raises ValueError."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "asyncpg":
            raise
        raise ValueError(
            "a store in PostgreSQL needs the package asyncpg; install it with: pip install 'sixledger[postgres]'"
        ) from None


_SCHEMES: dict[str, Callable[[str], Store]] = {"memory": _memory, "sqlite": _sqlite}
