"""Wake-ups from process to process: which matches have new records, told by NOTIFY on a connection of its own.

Never inside the transaction of an append: every NOTIFY takes a lock that is one for the whole database. What has
gathered is told at once, at most every ten milliseconds. A wake-up may get lost; whoever follows a match looks by
the clock as well.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from sixledger.service.logs import Log
from sixledger.service.store.postgres_link import DATABASE_ERRORS, FIRST_PAUSE_S, Link, close, told

if TYPE_CHECKING:
    from sixledger.service.store.postgres_link import Connection, Pooled

CHANNEL = "sixledger"
#: At most so many matches are named; beyond, `*` says "any". A message may have 8000 bytes.
_NAMED, _MESSAGES = 360, 4
_ANY = "*"
#: Pause after a message, in which more gathers. The first one after a while goes at once.
_GAP_S = 0.01
_LONGEST_PAUSE_S = 5.0
#: Seconds of silence after which the database is asked whether it is still there, and seconds that its answer may take.
#: A connection that a machine or a firewall between has forgotten says nothing for ever.
_SILENCE_S, _ANSWER_S = 5.0, 5.0

Heard = Callable[[Collection[bytes] | None], None]


class Wakeups:
    """Tells others, and hears them. It connects, and connects anew, by itself."""

    def __init__(self, link: Link, heard: Heard) -> None:
        """`heard` gets the matches in which others have appended, or None: in any."""
        self._link = link
        self._heard = heard
        self._told: set[bytes] = set()
        self._any = False
        self._woken = asyncio.Event()
        #: True while this listens.
        self.listening = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._log = Log("store")

    def start(self) -> None:
        """Listen and tell from now on."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Stop."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None

    def publish(self, match_ids: Collection[bytes]) -> None:
        """Tell the others soon that these matches have new records."""
        if self._any:
            return
        self._told.update(match_ids)
        if len(self._told) > _NAMED * _MESSAGES:
            self._told.clear()
            self._any = True
        self._woken.set()

    async def _run(self) -> None:
        pause_s, first = FIRST_PAUSE_S, True
        while True:
            connection = None
            try:
                connection = await self._link.connect(direct=True)
                lost = asyncio.Event()
                connection.add_termination_listener(lambda _, lost=lost: self._lost(lost))
                await connection.add_listener(CHANNEL, self._hear)
                # A wake-up is worth no wait for the disk.
                await connection.execute("SET synchronous_commit = off")
                self.listening.set()
                if not first:
                    self._heard(None)  # whatever was told meanwhile
                pause_s, first = FIRST_PAUSE_S, False
                await self._tell(connection, lost)
            except DATABASE_ERRORS as error:
                self._log.warning("wakeups_lost", store=told(error), hint="new records are found by looking meanwhile")
            finally:
                self.listening.clear()
                await close(connection, timeout_s=0.5)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _lost(self, lost: asyncio.Event) -> None:
        lost.set()
        self._woken.set()

    async def _tell(self, connection: Connection, lost: asyncio.Event) -> None:
        while not lost.is_set():
            try:
                async with asyncio.timeout(_SILENCE_S):
                    await self._woken.wait()
            except TimeoutError:
                await connection.execute("SELECT 1", timeout=_ANSWER_S)
                continue
            self._woken.clear()
            messages = self._messages()
            for message in messages:
                await connection.execute("SELECT pg_notify($1, $2)", CHANNEL, message, timeout=_ANSWER_S)
            if messages:
                await asyncio.sleep(_GAP_S)

    def _messages(self) -> list[str]:
        ids, self._told = sorted(self._told), set()
        if self._any:
            self._any = False
            return [_ANY]
        return [encode(ids[start : start + _NAMED]) for start in range(0, len(ids), _NAMED)]

    def _hear(self, connection: Pooled, pid: int, channel: str, payload: object) -> None:
        if pid == connection.get_server_pid():
            return  # own words
        self._heard(decode(str(payload)))


def encode(match_ids: Collection[bytes]) -> str:
    """Match ids as the text of a message."""
    return base64.b64encode(b"".join(match_ids)).decode()


def decode(payload: str) -> list[bytes] | None:
    """The match ids of a message; None: any. What cannot be read means any, too."""
    try:
        data = base64.b64decode(payload, validate=True)
    except (binascii.Error, ValueError):
        return None
    if not data or len(data) % 16:
        return None
    return [data[start : start + 16] for start in range(0, len(data), 16)]
