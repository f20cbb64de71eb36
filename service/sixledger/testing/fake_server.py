"""`FakeServer`: the real server on a free port of this machine, with a clock, a seed and faults by script."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from types import TracebackType
from typing import Any, Self

import grpc
from google.protobuf.message import Message
from sixledger.client import AsyncClient, Client, Credentials, Settings, TrustStore
from sixledger.ledger.heads import VerifierKey
from sixledger.service import logs
from sixledger.service.config import Settings as ServerSettings
from sixledger.service.keyring import Keyring
from sixledger.service.server import Server
from sixledger.testing.clock import NOON, ManualClock
from sixledger.testing.faults import Faults, _Fault

_UNAVAILABLE = grpc.StatusCode.UNAVAILABLE


class FakeServer:
    """A server for one test, or for many. Keeps everything in memory; gone when the context is left.

    Use it with `with` or `async with`: it runs in a thread of its own, so that blocking clients and asyncio
    clients may use it. What it answers is what a server answers: signed, chained, and by the rules.

    With the same `seed` the cards of the n-th match are the same in every run, as long as its id and the
    contributions of its seats are: `open` and `credentials` see to that. (Ids of requests stay random, so the
    hashes of records differ.)
    """

    def __init__(
        self, *, seed: int = 0, start: datetime = NOON, log_level: str = "error", settings: ServerSettings | None = None
    ) -> None:
        """`start` is where the clock stands. `settings` replace those of a server in memory on a free port.

        `log_level` is set for the whole process: debug, info, warning or error, to the standard error.
        """
        #: Stands still until the test moves it.
        self.clock = ManualClock(start)
        self._seed = seed
        self._log_level = log_level
        self._settings = settings or ServerSettings(
            listen="127.0.0.1:0",
            store="memory:",
            origin="fake.sixledger",
            watch_tick_s=0.05,
            deadline_tick_s=0.05,
            grace_s=1.0,
        )
        self._faults = Faults()
        self._opened = 0
        self._roots = 0
        self._server: Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._ready = threading.Event()
        self._failure: BaseException | None = None

    # -- where it is -------------------------------------------------------------------------------

    @property
    def address(self) -> str:
        """`HOST:PORT`, for a client in another process for example."""
        return self._running().address

    @property
    def verifier_key(self) -> VerifierKey:
        """What its signed heads are checked with; with the same seed it is the same."""
        return self._running().host.signer.verifier_key

    def advance(self, seconds: float) -> None:
        """Move the clock on, and fire the timers that are due by then: when this returns their records are there."""
        server = self._running()
        self.clock.advance(seconds)
        assert self._loop is not None, "it runs"
        asyncio.run_coroutine_threadsafe(server.timekeeper.tick(), self._loop).result(timeout=30)

    def client(self, **arguments: Any) -> Client:
        """A new blocking client, to be closed. It is impatient: what does not work fails within five seconds."""
        return Client(self.address, **self._arguments(arguments))

    def async_client(self, **arguments: Any) -> AsyncClient:
        """A new asyncio client, to be closed; as `client`."""
        return AsyncClient(self.address, **self._arguments(arguments))

    def _arguments(self, given: dict[str, Any]) -> dict[str, Any]:
        impatient = Settings(timeout=5.0, patience=5.0, first_pause=0.01, longest_pause=0.2)
        return {"trust": TrustStore(keys=[self.verifier_key]), "settings": impatient} | given

    def _running(self) -> Server:
        if self._server is None:
            raise RuntimeError("the server does not run: use it inside `with FakeServer() as server`")
        return self._server

    # -- the same match every time -----------------------------------------------------------------

    def secret(self, use: str) -> bytes:
        """32 bytes that follow from the seed and `use`."""
        return hashlib.sha256(f"sixledger/fake/1\n{self._seed}\n{use}".encode()).digest()

    def open(self, game: str, *, seats: int, options: Message | None = None, **arguments: Any) -> bytes:
        """Open a match as `client.matches.create` does; its id follows from the seed. Raises what `create` raises."""
        self._opened += 1
        with self.client() as client:
            secret = self.secret(f"match/{self._opened}")
            return client.matches.create(game, seats=seats, options=options, secret=secret, **arguments).match_id

    def credentials(self, match_id: bytes, seat: int, display_name: str = "") -> Credentials:
        """Secrets of a seat that follow from the seed, for `client.matches.resume`: that takes the seat."""
        use = f"{match_id.hex()}/{seat}"
        return Credentials(
            match_id,
            seat,
            self.secret(f"{use}/secret"),
            self.secret(f"{use}/key"),
            self.secret(f"{use}/contribution"),
            display_name=display_name,
        )

    def _root_secret(self) -> bytes:
        self._roots += 1
        return self.secret(f"root/{self._roots}")

    # -- faults ------------------------------------------------------------------------------------

    @property
    def calls(self) -> Counter[str]:
        """How often each call has arrived so far, by its name, faults and repetitions included."""
        return Counter(self._faults.calls)

    def lose_next(self, method: str, times: int = 1, *, code: grpc.StatusCode = _UNAVAILABLE) -> None:
        """The next calls of `method`, for example "SubmitCommand", fail before anything is done."""
        self._faults.script(method, _Fault("lose", code), times)

    def drop_next_reply(self, method: str, times: int = 1, *, code: grpc.StatusCode = _UNAVAILABLE) -> None:
        """The next calls of `method` are carried out, but fail: the reply never arrives. Not for streams."""
        self._faults.script(method, _Fault("drop", code), times)

    def delay_next(self, method: str, seconds: float, times: int = 1) -> None:
        """The next calls of `method` wait so many seconds before anything is done."""
        self._faults.script(method, _Fault("delay", amount=seconds), times)

    def cut_next_stream(
        self, method: str = "WatchMatch", after: int = 0, times: int = 1, *, code: grpc.StatusCode = _UNAVAILABLE
    ) -> None:
        """The next streams of `method` break after so many items."""
        self._faults.script(method, _Fault("cut", code, after), times)

    def cut_streams(self) -> None:
        """Every stream that is open now breaks."""
        self._running()
        loop = self._loop
        assert loop is not None, "a running server has a loop"
        done = threading.Event()

        def cut() -> None:
            self._faults.cut_now()
            done.set()

        loop.call_soon_threadsafe(cut)
        done.wait()

    def heal(self) -> None:
        """Forget the faults that have not happened yet."""
        self._faults.clear()

    # -- running -----------------------------------------------------------------------------------

    def start(self) -> None:
        """Start; with `with` it happens by itself. Raises what keeps a server from starting."""
        if self._thread is not None:
            raise RuntimeError("a fake server starts once: make a new one")
        logs.configure(self._log_level)
        self._thread = threading.Thread(target=self._main, name="fake-sixledger", daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Stop. Harmless when repeated."""
        if self._thread is None:
            return
        if self._loop is not None and self._stop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._server = None

    def _main(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            self._failure = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with Server(self._settings, **self._server_arguments()) as self._server:
            self._ready.set()
            await self._stop.wait()

    def _server_arguments(self) -> dict[str, Any]:
        clock: Callable[[], int] = self.clock
        return {
            "keyring": Keyring(self.secret("head key"), self.secret("token key")),
            "clock": clock,
            "root_secret": self._root_secret,
            "interceptors": (self._faults,),
        }

    def __enter__(self) -> Self:
        """The server, once it answers."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop it."""
        self.stop()

    async def __aenter__(self) -> Self:
        """The server, once it answers."""
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop it."""
        await asyncio.to_thread(self.stop)
