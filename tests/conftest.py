"""What holds for every test: the profiles of the property tests, and the PostgreSQL of those that need one.

`HYPOTHESIS_PROFILE` picks one: `stable` (default: the same examples on every run), `quick` (fewer of
them) or `wide` (many, new ones on every run).
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from support.postgres import postgres_server, postgres_url, source

__all__ = ["postgres_server", "postgres_url"]

_COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("stable", _COMMON, max_examples=5, derandomize=True, database=None)
settings.register_profile("quick", _COMMON, max_examples=1, derandomize=True, database=None)
settings.register_profile("wide", _COMMON, max_examples=100)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "stable"))


def pytest_report_header(config: pytest.Config) -> str:
    """Say which PostgreSQL the tests use."""
    return f"postgresql: {source()}"


@pytest.fixture(params=["grpcio", "http2"])
def transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Servers of the test run on each transport in turn, in the process and beside it."""
    name: str = request.param
    monkeypatch.setattr("support.servers.TRANSPORT", name)
    monkeypatch.setenv("SIXLEDGER_TRANSPORT", name)
    return name
