"""ReplayService: verifies ledgers. A bad ledger is a verdict, not an error."""

from __future__ import annotations

import asyncio
import io
import multiprocessing
import signal
import threading
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sixledger.ledger.faults import UnusableInput
from sixledger.ledger.heads import VerifierKey
from sixledger.ledger.jsonl import GZIP, unpacked
from sixledger.ledger.key_list import parse_trust
from sixledger.service.errors import ServiceError, malformed, quota_exceeded, too_large, unavailable
from sixledger.v1 import error_pb2
from sixledger.v1 import replay_service_pb2 as pb

if TYPE_CHECKING:
    from sixledger.service.metrics import Metrics

#: Keys that a caller may name: each is checked, and each is tried on each head.
MAX_KEYS = 100


class ReplayServicer:
    """The calls of ReplayService, by their names.

    A replay is pure computation: it runs in a process of its own, one at a time, so that nobody who plays
    has to wait for it. The process is started for the first ledger.
    """

    def __init__(
        self,
        own_key: VerifierKey | Callable[[], str],
        *,
        max_bytes: int = 32 << 20,
        max_waiting: int = 8,
        cpu_s: float = 60.0,
        receive_s: float = 300.0,
        executor: Executor | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        """Trust `own_key`, or the key or key list that it gives, unless the caller names others.

        Takes files of `max_bytes`, unpacked.

        At most `max_waiting` ledgers at a time, from their first byte on; `receive_s` seconds to arrive in, and `cpu_s`
        seconds of processor time for each (where the system can measure that: everywhere but on Windows).
        """
        self._own_key = own_key
        self._max_bytes = max_bytes
        self._max_waiting = max_waiting
        self._cpu_s = cpu_s
        self._receive_s = receive_s
        self._waiting = 0
        self._executor = executor
        self._metrics = metrics

    async def VerifyLedger(self, requests: AsyncIterator[pb.VerifyLedgerRequest]) -> pb.VerifyLedgerResponse:
        """Verify a ledger file that is sent in pieces."""
        if self._waiting >= self._max_waiting:
            raise quota_exceeded("verifications", self._max_waiting, retry_after_s=1)
        self._waiting += 1
        try:
            return await self._verify(requests)
        finally:
            self._waiting -= 1

    async def _verify(self, requests: AsyncIterator[pb.VerifyLedgerRequest]) -> pb.VerifyLedgerResponse:
        data = bytearray()
        keys: Sequence[str] | None = None
        try:
            async with asyncio.timeout(self._receive_s):
                async for request in requests:
                    if keys is None:
                        keys = _checked_keys(request.trusted_keys)
                    elif not request.chunk:
                        raise malformed("chunk", "only the first message may be without bytes")
                    data += request.chunk
                    if len(data) > self._max_bytes:
                        raise too_large("the ledger", self._max_bytes)
        except TimeoutError as error:
            raise unavailable(f"the ledger did not arrive within {self._receive_s:g} seconds") from error
        if not data:
            raise malformed("chunk", "no bytes were sent")
        content = unpack(bytes(data), self._max_bytes)
        trusted = keys or [self._own_key() if callable(self._own_key) else str(self._own_key)]
        begun = time.perf_counter()
        try:
            report = await asyncio.get_running_loop().run_in_executor(
                self._pool(), verify, content, trusted, self._cpu_s
            )
        except UnusableInput as error:
            raise malformed("chunk", str(error)) from error
        except CpuLimit as error:
            raise ServiceError(
                error_pb2.REASON_TOO_LARGE,
                f"the ledger takes more than {self._cpu_s:g} seconds to verify here; verify it on your own machine",
                metadata={"quota": "verification_cpu_s", "limit": f"{self._cpu_s:g}"},
            ) from error
        except BrokenProcessPool as error:
            self._executor = None
            raise unavailable("the verification was interrupted") from error
        response = pb.VerifyLedgerResponse(report=pb.VerifyReport.FromString(report))
        if self._metrics is not None:
            self._metrics.verified(response.report.verdict, time.perf_counter() - begun)
        return response

    def close(self) -> None:
        """Stop the process, without waiting for a replay that runs."""
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = None

    def _pool(self) -> Executor:
        if self._executor is None:
            # Spawned: a fork would take over threads and sockets of the server.
            self._executor = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
        return self._executor


def _checked_keys(keys: Sequence[str]) -> list[str]:
    if len(keys) > MAX_KEYS:
        raise malformed("trusted_keys", f"there are {len(keys)} keys; name at most {MAX_KEYS}")
    for index, key in enumerate(keys):
        try:
            parse_trust(key)
        except ValueError as error:
            raise malformed(f"trusted_keys[{index}]", str(error)) from error
    return list(keys)


def unpack(data: bytes, max_bytes: int) -> bytes:
    """The file without gzip, so that a small file cannot unpack to a huge one. Raises TOO_LARGE or MALFORMED.

    What is no right gzip stays as it is: the verifier says so.
    """
    if not data.startswith(GZIP):
        return data
    try:
        content = unpacked(io.BytesIO(data)).read(max_bytes + 1)
    except (EOFError, zlib.error):
        return data
    except UnusableInput as error:
        raise malformed("chunk", str(error)) from error
    if len(content) > max_bytes:
        raise too_large("the unpacked ledger", max_bytes)
    return content


class CpuLimit(Exception):
    """A replay took more processor time than it may."""


def verify(data: bytes, trusted: Sequence[str], cpu_s: float = float("inf")) -> bytes:
    """The serialised report of a ledger file. Runs in a process of its own, whose time it may limit."""
    from sixledger.ledger.verify import verify as replay

    with _limited(cpu_s):
        report: pb.VerifyReport = replay(data, trusted=[parse_trust(key) for key in trusted])
        return report.SerializeToString()


@contextmanager
def _limited(cpu_s: float) -> Iterator[None]:
    """Raise CpuLimit in the block after so much processor time of this process."""
    can = hasattr(signal, "ITIMER_PROF") and threading.current_thread() is threading.main_thread()
    if not can or cpu_s == float("inf"):
        yield
        return

    def stop(number: int, frame: object) -> None:
        raise CpuLimit

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
