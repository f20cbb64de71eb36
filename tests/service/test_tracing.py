"""Traces: a share of the calls, decided before a span exists, without a secret."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from random import Random
from typing import Any

import grpc.aio
import pytest
from opentelemetry.sdk.trace import TracerProvider
from sixledger.service.tracing import Tracing
from sixledger.v1 import match_service_pb2 as pb
from support.servers import failing, memory_settings, serving, start
from support.traces import Traces

#: The same over every transport.
pytestmark = pytest.mark.usefixtures("transport")

SUBMIT = "sixledger.v1.MatchService/SubmitCommand"


@pytest.fixture
def traces() -> Iterator[Traces]:
    made = Traces()
    yield made
    made.provider.shutdown()


async def test_a_call_is_a_span_whose_phases_are_its_children(traces: Traces) -> None:
    async with serving(tracing=Tracing(1, traces.provider)) as (_, client):
        table = await start(client)
        await table.play(Random(1), 3)
    submitted = traces.spans(SUBMIT)
    assert len(submitted) == 3
    for phase in ("decide", "store"):
        parents = [span.parent.span_id for span in traces.spans(phase) if span.parent is not None]
        assert {span.context.span_id for span in submitted} <= set(parents)
        assert all((span.end_time or 0) >= (span.start_time or 0) for span in traces.spans(phase))


async def test_a_refused_call_has_its_reason_and_no_text_of_the_error(traces: Traces) -> None:
    async with serving(tracing=Tracing(1, traces.provider)) as (_, client):
        table = await start(client)
        request = await table.next_request(Random(1))
        request.decision = 99
        failure = await failing(client.match.SubmitCommand(request))
    (span,) = traces.spans(SUBMIT)
    assert span.attributes is not None
    assert span.attributes["sixledger.reason"] == "STALE_DECISION"
    assert not span.events
    for secret in (failure.message, table.players[0].token, table.match_id.hex(), table.owner_token):
        assert secret not in traces.text()


async def test_a_span_continues_the_trace_of_its_caller(traces: Traces) -> None:
    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    async with serving(tracing=Tracing(1, traces.provider)) as (_, client):
        request = pb.ListMatchesRequest()
        await client.match.ListMatches(request, metadata=[("traceparent", f"00-{trace_id}-00f067aa0ba902b7-01")])
        await client.match.ListMatches(request, metadata=[("traceparent", "nonsense")])
    first, second = traces.spans("sixledger.v1.MatchService/ListMatches")
    assert f"{first.context.trace_id:032x}" == trace_id
    assert f"{second.context.trace_id:032x}" != trace_id


async def test_a_command_on_a_play_stream_is_a_span_and_the_stream_is_not(traces: Traces) -> None:
    async with serving(tracing=Tracing(1, traces.provider)) as (_, client):
        table = await start(client)
        request = await table.next_request(Random(1))
        stream = client.match.Play()
        await stream.write(pb.PlayRequest(orders=[pb.PlayOrder(tag=1, command=request)]))
        await stream.read()
        await stream.done_writing()
        assert await stream.read() is grpc.aio.EOF
    assert len(traces.spans("sixledger.v1.MatchService/Play command")) == 1
    assert not traces.spans("sixledger.v1.MatchService/Play")


async def test_only_a_share_is_traced_and_no_span_is_made_for_the_rest(
    traces: Traces, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    tracing = Tracing(0.25, traces.provider, random=Random(5))
    begin = tracing._tracer.start_as_current_span
    monkeypatch.setattr(
        tracing._tracer, "start_as_current_span", lambda *given, **more: _noted(made, begin, given, more)
    )
    async with serving(tracing=tracing) as (_, client):
        for _ in range(100):
            await client.match.ListMatches(pb.ListMatchesRequest())
    assert 10 <= len(made) <= 40
    assert len(traces.spans("sixledger.v1.MatchService/ListMatches")) == len(made)


def _noted(made: list[object], begin: Any, given: Any, more: Any) -> Any:
    made.append(given[0])
    return begin(*given, **more)


def test_without_a_ratio_the_package_is_not_even_imported() -> None:
    program = """
import asyncio, sys
from sixledger.service.config import Settings
from sixledger.service.server import Server
async def main():
    async with Server(Settings(listen="127.0.0.1:0", store="memory:")):
        pass
asyncio.run(main())
print(sorted(name for name in sys.modules if name.split(".")[0] in ("opentelemetry", "prometheus_client")))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_without_the_extra_the_setting_says_what_to_install() -> None:
    program = """
import sys
sys.modules["opentelemetry"] = None
from sixledger.service.config import Settings
from sixledger.service.server import Server
try:
    Server(Settings(trace_ratio=0.5))
except ValueError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pip install 'sixledger[tracing]'" in done.stdout


@pytest.mark.parametrize("ratio", [0, -0.1, 1.1])
def test_the_ratio_is_a_share(ratio: float) -> None:
    with pytest.raises(ValueError, match="trace_ratio"):
        Tracing(ratio, TracerProvider())


async def test_the_exporter_of_the_settings_starts_and_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens where it sends to: the server serves all the same."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    async with serving(memory_settings(trace_ratio=1.0)) as (_, client):
        await client.match.ListMatches(pb.ListMatchesRequest())
