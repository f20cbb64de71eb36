"""Both clients have the same surface: names, signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest
from sixledger.client import (
    AsyncClient,
    AsyncEngineSession,
    AsyncMatchStream,
    AsyncSeatedMatch,
    AsyncWatchedMatch,
    Client,
    EngineSession,
    MatchStream,
    SeatedMatch,
    WatchedMatch,
    aio,
    run_bot,
    run_bot_async,
    sync,
)
from sixledger.client.aio import access as aio_access
from sixledger.client.aio import catalog as aio_catalog
from sixledger.client.aio import engine as aio_engine
from sixledger.client.aio import lobby as aio_lobby
from sixledger.client.aio import matches as aio_matches
from sixledger.client.aio import replay as aio_replay
from sixledger.client.sync import access, catalog, engine, lobby, matches, replay

PAIRS = [
    (Client, AsyncClient),
    (catalog.Catalog, aio_catalog.Catalog),
    (matches.Matches, aio_matches.Matches),
    (lobby.Lobby, aio_lobby.Lobby),
    (access.Access, aio_access.Access),
    (engine.Engine, aio_engine.Engine),
    (replay.Replay, aio_replay.Replay),
    (EngineSession, AsyncEngineSession),
    (MatchStream, AsyncMatchStream),
    (WatchedMatch, AsyncWatchedMatch),
    (SeatedMatch, AsyncSeatedMatch),
]


def public(kind: type) -> dict[str, Any]:
    return {name: member for name, member in inspect.getmembers(kind) if not name.startswith("_")}


def comparable(function: Callable[..., Any]) -> str:
    """The signature, with the names of the one client's types."""
    text = str(inspect.signature(function))
    return text.replace("Async", "").replace("AsyncIterator", "Iterator").replace("collections.abc.", "")


@pytest.mark.parametrize(("sync_kind", "async_kind"), PAIRS, ids=lambda kind: kind.__name__)
def test_both_clients_have_the_same_names_signatures_and_docstrings(sync_kind: type, async_kind: type) -> None:
    ours, theirs = public(sync_kind), public(async_kind)
    assert list(ours) == list(theirs)
    for name, member in ours.items():
        other = theirs[name]
        assert inspect.getdoc(member), name
        assert inspect.getdoc(member) == inspect.getdoc(other), name
        if isinstance(member, property):
            assert isinstance(other, property), name
        else:
            assert comparable(member) == comparable(other), name
            assert not inspect.iscoroutinefunction(member), name


@pytest.mark.parametrize(("sync_kind", "async_kind"), PAIRS, ids=lambda kind: kind.__name__)
def test_what_waits_is_awaited(sync_kind: type, async_kind: type) -> None:
    for name, member in public(sync_kind).items():
        if isinstance(member, property):
            continue
        waits = "_driver" in member.__code__.co_names or name == "close"
        other = getattr(async_kind, name)
        awaited = inspect.iscoroutinefunction(other) or inspect.isasyncgenfunction(other)
        assert waits == awaited, name


def test_areas_are_named_alike() -> None:
    with Client("127.0.0.1:1") as client:
        areas = {name for name in vars(client) if not name.startswith("_")}
    assert areas == {"catalog", "matches", "lobby", "engine", "replay", "access"}


def test_the_bot_runners_are_alike() -> None:
    assert comparable(run_bot) == comparable(run_bot_async)
    assert inspect.getdoc(run_bot) == inspect.getdoc(run_bot_async)


def test_both_clients_say_what_they_are() -> None:
    assert re.search(r"grpc\b", sync.__doc__ or "")
    assert re.search(r"grpc\.aio\b", aio.__doc__ or "")
