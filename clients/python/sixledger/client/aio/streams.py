"""`client.matches.stream()`: any number of matches over one stream."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from google.protobuf.message import Message
from sixledger.client.aio.driver import Driver
from sixledger.client.aio.tables import AsyncSeatedMatch, AsyncWatchedMatch
from sixledger.client.core.hosting import Hosting
from sixledger.client.core.recorded import Recorded
from sixledger.client.credentials import Credentials
from sixledger.client.errors import ClientError


class AsyncMatchStream:
    """Matches that share one stream: their commands, and the records of those that are followed.

    Opens with the first order. A stream that breaks is opened again, and every table goes on where it stood: no
    record gets lost or comes twice, and no command is played twice. Tables made here end with it.
    """

    def __init__(self, driver: Driver, hosting: Hosting) -> None:
        """Made by `client.matches`."""
        self._driver = driver
        self._hosting = hosting

    async def join(
        self,
        match_id: bytes,
        seat: int,
        *,
        sign: bool = True,
        contribute: bool = True,
        display_name: str = "",
        save_to: str | Path | None = None,
    ) -> AsyncSeatedMatch:
        """Take a seat, as `client.matches.join` does, and play it over this stream."""
        return AsyncSeatedMatch(
            self._driver,
            await self._driver.run(self._hosting.join(match_id, seat, sign, contribute, display_name, save_to)),
        )

    async def resume(self, credentials: Credentials) -> AsyncSeatedMatch:
        """Go on with a seat, as `client.matches.resume` does, over this stream."""
        return AsyncSeatedMatch(self._driver, await self._driver.run(self._hosting.resume(credentials)))

    async def watch_match(self, match_id: bytes) -> AsyncWatchedMatch:
        """The table of a spectator, over this stream."""
        return AsyncWatchedMatch(self._driver, await self._driver.run(self._hosting.watch_match(match_id)))

    async def play_all(self, moves: Sequence[tuple[AsyncSeatedMatch, Message]]) -> list[Recorded | ClientError]:
        """Play a command at each of several tables, in one message. The results are in the order of the moves.

        A command that was refused has its error as the result. Raises ServerCheated.
        """
        return await self._driver.run(self._hosting.play_all([(table._seat, command) for table, command in moves]))

    async def close(self) -> None:
        """Give the stream up; its tables raise Closed. Harmless when repeated."""
        if self._hosting.stream is not None:
            self._hosting.stream.close()

    async def __aenter__(self) -> Self:
        """The stream itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Give it up."""
        await self.close()
