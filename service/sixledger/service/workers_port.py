"""The operator port of several workers: one address for all of them, in a process of its own.

Each worker has an operator port on a private socket. This one asks all of them: their metrics come back with the label
`worker`, and they are ready once every one is. What speaks gRPC is passed on to one of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress

from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from sixledger.service.http_port import HttpPort, Page, connect, not_now, not_there, text_page
from sixledger.service.metrics import CONTENT_TYPE

#: Seconds after which a worker that has not answered counts as away.
_PATIENCE_S = 3.0


class WorkersPort(HttpPort):
    """Listens at `address`, `HOST:PORT` or `unix:PATH`."""

    def __init__(self, address: str, workers: Mapping[str, str]) -> None:
        """`workers`: the address of each one's operator port, by its name."""
        super().__init__(address)
        self._workers = dict(workers)

    async def page(self, path: str) -> Page:
        """Metrics, live and ready, of all workers."""
        if path == "/metrics":
            pages = await self._ask(path)
            texts = {name: content.decode() for name, (_, content) in pages.items() if content}
            return "200 OK", CONTENT_TYPE, await asyncio.to_thread(joined, texts, list(self._workers))
        if path in ("/livez", "/healthz"):
            return text_page("live")
        if path == "/readyz":
            missing = [f"worker {name}: {why}" for name, why in (await self._missing()).items()]
            return not_now("; ".join(missing)) if missing else text_page("ready")
        return not_there()

    async def open_grpc(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to a worker that answers; to one that is not ready, if there is one, so that it is seen."""
        missing = await self._missing()
        for name in sorted(self._workers, key=lambda name: name not in missing):
            with suppress(OSError):
                return await connect(self._workers[name])
        raise OSError("no worker answers")

    async def _missing(self) -> dict[str, str]:
        """The workers that are not ready, and why."""
        pages = await self._ask("/readyz")
        return {
            name: content.decode().strip() or "does not answer"
            for name, (status, content) in pages.items()
            if status != 200
        }

    async def _ask(self, path: str) -> dict[str, tuple[int, bytes]]:
        """The page of each worker: status, 0 for one that does not answer, and content."""
        pages = await asyncio.gather(*(_fetch(address, path) for address in self._workers.values()))
        return dict(zip(self._workers, pages, strict=True))


async def _fetch(address: str, path: str) -> tuple[int, bytes]:
    try:
        async with asyncio.timeout(_PATIENCE_S):
            reader, writer = await connect(address)
            try:
                writer.write(f"GET {path} HTTP/1.1\r\nHost: worker\r\n\r\n".encode())
                head, _, content = (await reader.read(-1)).partition(b"\r\n\r\n")
            finally:
                writer.close()
        return int(head.split(maxsplit=2)[1]), content
    except (OSError, TimeoutError, ValueError, IndexError):
        return 0, b""


def joined(texts: Mapping[str, str], workers: Collection[str]) -> bytes:
    """The metrics of all workers as one text: every sample with the label `worker`.

    `texts` are those of the workers that answered; `sixledger_worker_up` tells who did.
    """
    registry = CollectorRegistry()
    up = Gauge(
        "sixledger_worker_up", "1 for a worker that answers the operator port, else 0.", ["worker"], registry=registry
    )
    for name in workers:
        up.labels(name).set(name in texts)
    registry.register(_Joined(texts))
    return generate_latest(registry)


class _Joined:
    """Metrics that were read from texts."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def collect(self) -> Iterable[Metric]:
        """Each metric once, with the samples of every worker."""
        families: dict[str, Metric] = {}
        for worker, text in self._texts.items():
            for family in text_string_to_metric_families(text):
                whole = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                for sample in family.samples:
                    whole.samples.append(sample._replace(labels={"worker": worker, **sample.labels}))
        return families.values()

    def describe(self) -> Iterable[Metric]:
        """Not known beforehand."""
        return ()
