"""Stores by URL."""

from __future__ import annotations

from collections.abc import Callable

from sixledger.service.store.base import Store
from sixledger.service.store.memory import MemoryStore
from sixledger.service.store.sqlite import SqliteStore


def open_store(url: str) -> Store:
    """The store that `url` names, not opened yet: use it with `async with`, or call its `open`.

    `memory:` keeps everything until the process ends. `sqlite:PATH` is a file, made if there is none;
    the path is relative to the current folder, or absolute after `sqlite:/` or `sqlite:///`.

    Raises ValueError for any other URL. The message never repeats the URL, which may hold a password.
    """
    scheme, colon, rest = url.partition(":")
    if not colon or scheme not in _SCHEMES:
        named = f"the scheme {scheme!r}" if colon and scheme.isalnum() else "a text without a known scheme"
        raise ValueError(f"a store is memory: or sqlite:PATH, not {named}")
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


_SCHEMES: dict[str, Callable[[str], Store]] = {"memory": _memory, "sqlite": _sqlite}
