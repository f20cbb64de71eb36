"""Where the spans of a server go in tests."""

from __future__ import annotations

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


class Traces:
    """A place where spans go."""

    def __init__(self) -> None:
        self._kept = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._kept))

    def spans(self, name: str) -> list[ReadableSpan]:
        """The finished spans of a name."""
        return [span for span in self._kept.get_finished_spans() if span.name == name]

    def text(self) -> str:
        """Everything that was kept."""
        return "".join(span.to_json() for span in self._kept.get_finished_spans())
