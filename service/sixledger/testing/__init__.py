"""A server for the tests of programs that use the clients: real, in this process, and under the test's control.

    from sixledger.testing import FakeServer

    with FakeServer(seed=1) as server, server.client() as client:
        ...

It needs the extra `service`. docs/how-to/test-your-frontend.md shows how to use it.
"""

from __future__ import annotations

try:
    from sixledger.testing.clock import ManualClock
    from sixledger.testing.fake_server import FakeServer
except ModuleNotFoundError as error:
    if (error.name or "").startswith("sixledger"):
        raise
    raise ImportError(
        f"sixledger.testing runs a server, which needs the package {error.name}: pip install 'sixledger[service]'",
        name=error.name,
    ) from error

__all__ = ["FakeServer", "ManualClock"]
