"""The operator's side: pages of the operator port, and metrics read from them."""

from __future__ import annotations

import asyncio
from urllib.error import HTTPError
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families
from sixledger.service.server import Server


async def page(server: Server, path: str) -> tuple[int, str]:
    """Status and text of a page of the operator port."""
    assert server.admin is not None
    return await page_at(server.admin.address, path)


async def page_at(address: str, path: str) -> tuple[int, str]:
    """Status and text of a page at HOST:PORT."""

    def fetch() -> tuple[int, str]:
        try:
            with urlopen(f"http://{address}{path}", timeout=10) as reply:
                return reply.status, reply.read().decode()
        except HTTPError as error:
            with error:
                return error.code, error.read().decode()

    return await asyncio.to_thread(fetch)


class Sample(dict[tuple[str, tuple[tuple[str, str], ...]], float]):
    """Values of metrics by name and labels."""

    def of(self, name: str, **labels: str) -> float:
        """A value; 0 if it was never touched."""
        return self.get((name, tuple(sorted(labels.items()))), 0.0)


async def scrape(server: Server) -> Sample:
    """Every metric as it is now."""
    status, text = await page(server, "/metrics")
    assert status == 200
    return samples(text)


def samples(text: str) -> Sample:
    """Every metric of a text."""
    return Sample(
        ((sample.name, tuple(sorted(sample.labels.items()))), sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    )
