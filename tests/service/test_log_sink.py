"""A log that cannot be written fails no call."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
import structlog
from sixledger.service import logs
from sixledger.service.audit import audit
from sixledger.v1 import match_service_pb2 as pb
from support.servers import failing, serving


class Full(io.BytesIO):
    """A disk without room."""

    def write(self, line: object) -> int:
        """Refuse it."""
        raise OSError(28, "No space left on device")


def closed() -> io.BytesIO:
    file = io.BytesIO()
    file.close()
    return file


@pytest.fixture(params=[Full, closed], ids=["full", "closed"])
def broken_log(request: pytest.FixtureRequest) -> Iterator[None]:
    logs.configure("debug", request.param())
    yield
    structlog.reset_defaults()


@pytest.mark.usefixtures("broken_log")
async def test_calls_are_answered_although_nothing_can_be_logged() -> None:
    async with serving() as (_, client):
        failure = await failing(client.match.GetMatch(pb.GetMatchRequest(match_id=b"m" * 16)))
        assert failure.reason == "UNKNOWN_MATCH"
        audit("api_key_created", by="key:1")
