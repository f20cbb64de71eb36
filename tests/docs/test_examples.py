"""docs/reference/examples.md: every call of every service has an example in both clients, and it runs."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import grpc.aio
import pytest
from google.protobuf import descriptor_pool
from sixledger.service.api_keys import ApiKeys
from sixledger.service.matches import wall_clock
from sixledger.service.server import Server
from sixledger.service.store import MemoryStore
from sixledger.v1 import (
    access_service_pb2,
    catalog_service_pb2,
    engine_service_pb2,
    match_service_pb2,
    replay_service_pb2,
)
from support.pages import DOCS
from support.servers import memory_settings

SERVICES = [
    service
    for file in (
        access_service_pb2,
        catalog_service_pb2,
        engine_service_pb2,
        match_service_pb2,
        replay_service_pb2,
    )
    for service in file.DESCRIPTOR.services_by_name.values()
]
CALLS = {method.name for service in SERVICES for method in service.methods}


class Example(NamedTuple):
    """A section of the page: its heading, and its code for both clients."""

    name: str
    blocking: str
    waiting: str


def examples() -> list[Example]:
    """The examples in the order of the page. Every heading with code has two blocks."""
    found = []
    for section in re.split(r"^##+ ", (DOCS / "reference/examples.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[
        1:
    ]:
        blocks = re.findall(r"^```python\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
        if blocks:
            assert len(blocks) == 2, section.partition("\n")[0]
            found.append(Example(section.partition("\n")[0], *blocks))
    return found


class Arrivals(grpc.aio.ServerInterceptor):  # type: ignore[misc]  # grpc has no types
    """Counts the calls that arrive, by name."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], details: Any) -> Any:
        self.calls[details.method.rpartition("/")[2]] += 1
        return await continuation(details)


@asynccontextmanager
async def serving() -> AsyncIterator[tuple[Arrivals, str, str]]:
    """A server, its address, and an API key that may do everything."""
    arrivals = Arrivals()
    async with MemoryStore() as store:
        scopes = [
            access_service_pb2.API_SCOPE_CREATE,
            access_service_pb2.API_SCOPE_LIST,
            access_service_pb2.API_SCOPE_ADMIN,
        ]
        key, _ = await ApiKeys(store, wall_clock).add("reader", scopes)
        settings = memory_settings(create_needs_key="yes")
        async with Server(settings, store=store, interceptors=[arrivals]) as server:
            yield arrivals, server.address, key


def test_every_service_of_the_schema_is_looked_at() -> None:
    """A new service must be added to the list above."""
    pool = descriptor_pool.Default()
    folder = Path(__file__).parents[2] / "protos/sixledger"
    declared = {
        f"{found[1]}.{found[2]}"
        for path in folder.rglob("*.proto")
        if (found := re.search(r"^package ([\w.]+);.*^service (\w+) ", path.read_text(), re.DOTALL | re.MULTILINE))
    }
    assert {service.full_name for service in SERVICES} == declared
    assert all(pool.FindServiceByName(name) for name in declared)


def test_every_call_has_an_example_and_no_example_is_of_a_call_that_is_not_there() -> None:
    names = [example.name for example in examples() if example.name[:1].isupper() and " " not in example.name]
    assert not CALLS - set(names), f"without an example: {', '.join(sorted(CALLS - set(names)))}"
    assert sorted(names) == sorted(CALLS)


async def test_the_examples_of_the_blocking_client_run_and_make_their_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with serving() as (arrivals, address, key):
        place: dict[str, Any] = {"api_key": key}
        for example in examples():
            before = Counter(arrivals.calls)
            code = compile(example.blocking.replace("127.0.0.1:7655", address), f"{example.name} (Client)", "exec")
            await asyncio.to_thread(exec, code, place)
            _check(example, arrivals.calls - before)


async def test_the_examples_of_the_asyncio_client_run_and_make_their_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they are typed at `python -m asyncio`."""
    monkeypatch.chdir(tmp_path)
    async with serving() as (arrivals, address, key):
        place: dict[str, Any] = {"api_key": key}
        for example in examples():
            before = Counter(arrivals.calls)
            text = example.waiting.replace("127.0.0.1:7655", address)
            code = compile(text, f"{example.name} (AsyncClient)", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            made = eval(code, place)  # the code under test
            if inspect.iscoroutine(made):
                await made
            _check(example, arrivals.calls - before)


def _check(example: Example, made: Counter[str]) -> None:
    if example.name in CALLS:
        assert example.name in made, f"the example of {example.name} makes {dict(made)}"
