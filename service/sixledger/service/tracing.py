"""Traces for OpenTelemetry, if the operator asks for them. Needs the extra `tracing`.

Whether a call is traced is decided before a span exists: what is not traced costs one random number. Spans hold
names of calls, reasons and times; never an id, a message or an exception's text.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, TypeVar

from sixledger.engine.version import __version__
from sixledger.service.errors import translate

try:
    from opentelemetry import trace
    from opentelemetry.propagators.textmap import Getter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.sampling import ALWAYS_ON
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ModuleNotFoundError as error:
    raise ValueError(f"tracing needs the package {error.name}: pip install 'sixledger[tracing]'") from None

R = TypeVar("R")


class Tracing:
    """Traces a share of the calls of a server."""

    def __init__(self, ratio: float, provider: TracerProvider | None = None, *, random: Random | None = None) -> None:
        """Trace a call with the probability `ratio`, more than 0 and at most 1.

        Without a `provider` spans go where the variables `OTEL_EXPORTER_OTLP_…` say, by default to port 4318 of this
        machine. `random` is for tests.
        """
        if not 0 < ratio <= 1:
            raise ValueError("trace_ratio must be more than 0 and at most 1")
        self._ratio = ratio
        self._random = (random or Random()).random  # noqa: S311  # decides what is traced, guards no secret
        self._own = provider is None
        self._provider = provider or _exporting()
        self._tracer = self._provider.get_tracer("sixledger", __version__)
        self._propagator = TraceContextTextMapPropagator()

    def traced(self, method: str, behaviour: Callable[..., Awaitable[R]]) -> Callable[..., Awaitable[R]]:
        """A call of `method` that is traced now and then. Its last argument may be the context of a grpc call."""
        name, random, ratio = method.removeprefix("/"), self._random, self._ratio

        async def call(*arguments: Any) -> R:
            if random() >= ratio:
                return await behaviour(*arguments)
            metadata = getattr(arguments[-1], "invocation_metadata", None)
            parent = self._propagator.extract(metadata() or (), getter=_METADATA) if metadata is not None else None
            with self._tracer.start_as_current_span(
                name, parent, trace.SpanKind.SERVER, record_exception=False, set_status_on_exception=False
            ) as span:
                try:
                    return await behaviour(*arguments)
                except Exception as error:
                    found = translate(error)
                    reason = "INTERNAL" if found is None else found.contract.name
                    span.set_attribute("sixledger.reason", reason)
                    span.set_status(trace.StatusCode.ERROR, reason)
                    raise

        return call

    def acted(self, begun: float, decided: float) -> None:
        """An act of the running call began then, was decided then and is durable now, by time.perf_counter."""
        if not trace.get_current_span().is_recording():
            return
        now, clock = time.time_ns(), time.perf_counter()
        moments = [now - round((clock - moment) * 1e9) for moment in (begun, decided)]
        for phase, start, end in (("decide", moments[0], moments[1]), ("store", moments[1], now)):
            self._tracer.start_span(phase, start_time=start).end(end)

    def close(self) -> None:
        """Send what is left, and stop. Blocks; leaves a provider that was given alone."""
        if self._own:
            self._provider.shutdown()


class _Metadata(Getter[Any]):
    """Reads the metadata of a grpc call."""

    def get(self, carrier: Any, key: str) -> list[str] | None:
        """The values of a key."""
        values = [value for name, value in carrier if name == key and isinstance(value, str)]
        return values or None

    def keys(self, carrier: Any) -> list[str]:
        """All keys."""
        return [name for name, _ in carrier]


_METADATA = _Metadata()


def _exporting() -> TracerProvider:
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ModuleNotFoundError as error:
        raise ValueError(f"tracing needs the package {error.name}: pip install 'sixledger[tracing]'") from None
    # What is sampled was decided before: every span that is made is kept.
    provider = TracerProvider(ALWAYS_ON, Resource.create({"service.name": "sixledger", "service.version": __version__}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider
