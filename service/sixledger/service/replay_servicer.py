"""ReplayService: verifies ledgers. A bad ledger is a verdict, not an error."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
import threading
import time
import zlib
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sixledger.ledger.faults import UnusableInput
from sixledger.ledger.heads import VerifierKey
from sixledger.service.errors import ServiceError, malformed, quota_exceeded, too_large, unavailable
from sixledger.v1 import error_pb2
from sixledger.v1 import replay_service_pb2 as pb

if TYPE_CHECKING:
    from sixledger.service.metrics import Metrics

_GZIP = b"\x1f\x8b"


class ReplayServicer:
    """The calls of ReplayService, by their names.

    A replay is pure computation: it runs in a process of its own, one at a time, so that nobody who plays
    has to wait for it. The process is started for the first ledger.
    """

    def __init__(
        self,
        own_key: VerifierKey,
        *,
        max_bytes: int = 32 << 20,
        max_waiting: int = 8,
        cpu_s: float = 60.0,
        executor: Executor | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        """Trust `own_key` unless the caller names keys; take files of `max_bytes`, unpacked.

        At most `max_waiting` ledgers at a time, from their first byte on, and `cpu_s` seconds of processor time for
        each (where the system can measure that: everywhere but on Windows).
        """
        self._own_key = own_key
        self._max_bytes = max_bytes
        self._max_waiting = max_waiting
        self._cpu_s = cpu_s
        self._waiting = 0
        self._executor = executor
        self._metrics = metrics

    async def VerifyLedger(  # noqa: N802 - RPC names
        self, requests: AsyncIterator[pb.VerifyLedgerRequest]
    ) -> pb.VerifyLedgerResponse:
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
        async for request in requests:
            if keys is None:
                keys = list(request.trusted_keys)
                for index, key in enumerate(keys):
                    _check_key(key, index)
            data += request.chunk
            if len(data) > self._max_bytes:
                raise too_large("the ledger", self._max_bytes)
        if not data:
            raise malformed("chunk", "no bytes were sent")
        unpacked = unpack(bytes(data), self._max_bytes)
        trusted = keys or [str(self._own_key)]
        begun = time.perf_counter()
        try:
            report = await asyncio.get_running_loop().run_in_executor(
                self._pool(), verify, unpacked, trusted, self._cpu_s
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


def _check_key(key: str, index: int) -> None:
    try:
        VerifierKey.parse(key)
    except ValueError as error:
        raise malformed(f"trusted_keys[{index}]", str(error)) from error


def unpack(data: bytes, max_bytes: int) -> bytes:
    """The file without gzip, so that a small file cannot unpack to a huge one. Raises TOO_LARGE.

    What is no right gzip stays as it is: the verifier says so.
    """
    unpacked = bytearray()
    rest = data
    while rest.startswith(_GZIP):
        packer = zlib.decompressobj(wbits=31)
        try:
            unpacked += packer.decompress(rest, max_bytes + 1 - len(unpacked))
        except zlib.error:
            return data
        if len(unpacked) > max_bytes:
            raise too_large("the unpacked ledger", max_bytes)
        if not packer.eof:
            return data
        rest = packer.unused_data
    return data if rest else bytes(unpacked)


class CpuLimit(Exception):
    """A replay took more processor time than it may."""


def verify(data: bytes, trusted: Sequence[str], cpu_s: float = float("inf")) -> bytes:
    """The serialised report of a ledger file. Runs in a process of its own, whose time it may limit."""
    from sixledger.ledger.verify import verify as replay

    with _limited(cpu_s):
        report: pb.VerifyReport = replay(data, trusted=[VerifierKey.parse(key) for key in trusted])
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
