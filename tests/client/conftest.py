"""A real server on a socket, for both clients."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.play import RunningServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server in a thread of its own, on SQLite, with its address, which can be stopped and started."""
    folder: Path = tmp_path_factory.mktemp("server")
    with RunningServer(folder) as running:
        yield running
