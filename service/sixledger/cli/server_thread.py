"""A server in a thread of this process, on a real socket: for demonstrations."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import TracebackType

from sixledger.service import logs
from sixledger.service.config import Settings
from sixledger.service.server import Server


class ServerThread:
    """Runs a server from entering the context to leaving it."""

    def __init__(self, settings: Settings, *, root_secret: Callable[[], bytes] | None = None) -> None:
        """`root_secret` gives 32 bytes for each match, by default random ones."""
        self._settings = settings
        self._root_secret = root_secret
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._main, name="server", daemon=True)
        self.server: Server

    def _main(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            self._failure = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with Server(self._settings, root_secret=self._root_secret) as self.server:
            self._ready.set()
            await self._stop.wait()

    def __enter__(self) -> Server:
        """The server, once it answers. Raises what kept it from starting."""
        logs.configure(self._settings.log_level)
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            raise self._failure
        return self.server

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop it; running calls finish."""
        if self._loop is not None and self._stop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
