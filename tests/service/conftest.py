"""Event loops: what is close to the sockets is tested on uvloop as well, on which servers run where it is installed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pytest
from sixledger.service.process import loop_factory


@pytest.hookimpl(optionalhook=True)
def pytest_asyncio_loop_factories(item: pytest.Item) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """For each test the event loops that it runs on (with pytest-asyncio from 1.5 on; before, on that of asyncio)."""
    factories: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
    uvloop = loop_factory()
    if uvloop is not None and item.path.name.startswith(("test_http2", "test_transport")):
        factories["uvloop"] = uvloop
    return factories
