"""`client.replay`: verification by the service."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sixledger.client.core.calls import ReplayCalls
from sixledger.client.core.session import Session
from sixledger.client.sync.driver import Driver
from sixledger.v1 import replay_service_pb2


class Replay:
    """Replays ledgers. Who does not trust the service runs the verifier itself: the `verify` of its table."""

    def __init__(self, driver: Driver, session: Session) -> None:
        """Made by the client."""
        self._driver = driver
        self._calls = ReplayCalls(session)

    def verify(self, path: str | Path, trusted_keys: Sequence[str] = ()) -> replay_service_pb2.VerifyReport:
        """The report on a ledger file, plain or gzipped; a bad ledger is a verdict, not an error.

        `trusted_keys` are verifier keys or key lists, as text; by default the service trusts its own. Raises
        Malformed if the file is no ledger, TooLarge, and OSError if it cannot be read.
        """
        return self._driver.run(self._calls.verify(path, trusted_keys))
