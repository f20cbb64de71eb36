"""Bots of the server: they play their seats by the same path as people, through `MatchHost.act`.

A bot keeps nothing: what it sees is the view of its seat, what it draws follows from the secret of the match. So any
replica may play it, after a restart too, and replicas that play it at the same time make the same act, which is
recorded once.
"""

from __future__ import annotations

import asyncio
import hmac
from random import Random
from typing import Any

from sixledger.engine.bots import bot, bots_for
from sixledger.ledger.hashing import sha256, u16, u64
from sixledger.service.errors import EXPECTED, ServiceError, malformed
from sixledger.service.host import MatchHost
from sixledger.service.hosted import Hosted
from sixledger.service.hub import Waiter
from sixledger.service.logs import Log, places
from sixledger.service.restored import is_restored
from sixledger.service.store import StoreError
from sixledger.service.watch import Pulse
from sixledger.v1 import engine_service_pb2, error_pb2, match_service_pb2, record_pb2

#: Matches in which something is left to do.
UNFINISHED = (
    match_service_pb2.MATCH_STATUS_OPEN,
    match_service_pb2.MATCH_STATUS_CONTRIBUTING,
    match_service_pb2.MATCH_STATUS_RUNNING,
)
#: Seconds between two looks for matches that another replica has left behind.
_RESCAN_S = 30.0
#: Seconds to wait after a failure; it doubles up to the second one.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 5.0
#: Matches that are loaded at a time when a server starts.
_LOADING = 8


def check_bot(game_id: str, name: str) -> str:
    """The name of a bot of the game; the best one if it is empty. Raises MALFORMED."""
    known = list(bots_for(game_id))
    if not name:
        return known[-1]
    if name not in known:
        raise malformed("bot", f"is no bot of {game_id}; there are: {', '.join(known)}")
    return name


class BotRunner:
    """Plays the seats that the server has taken. `start` it once the store is open, and `close` it before."""

    def __init__(self, host: MatchHost, pulse: Pulse) -> None:
        """Play in the matches of `host`; `pulse` looks for what other replicas have done."""
        self._host = host
        self._pulse = pulse
        self._tasks: dict[bytes, asyncio.Task[None]] = {}
        self._scanner: asyncio.Task[None] | None = None
        self._loading = asyncio.Semaphore(_LOADING)
        self._log = Log("bots")

    @property
    def matches(self) -> int:
        """Number of matches in which bots sit here."""
        return len(self._tasks)

    def start(self) -> None:
        """Find the matches in which bots sit, and play there, from now on."""
        if self._scanner is None:
            self._scanner = asyncio.get_running_loop().create_task(self._scan())

    async def close(self) -> None:
        """Stop. What was begun is finished by whoever starts next."""
        tasks = [*self._tasks.values()]
        if self._scanner is not None:
            tasks.append(self._scanner)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks.clear()
        self._scanner = None

    def add(self, match_id: bytes) -> None:
        """Play the bots of a match until it is over. Harmless when repeated."""
        if match_id in self._tasks or self._host.hub.closed or is_restored(self._host.store, match_id):
            return
        task = asyncio.get_running_loop().create_task(self._run(match_id))
        self._tasks[match_id] = task
        task.add_done_callback(lambda done: self._tasks.pop(match_id, None))

    async def _scan(self) -> None:
        while True:
            pause_s = _RESCAN_S
            try:
                for match_id in await self._host.store.matches_with_bots(UNFINISHED):
                    self.add(match_id)
            except EXPECTED as error:
                self._log.warning("bots_not_found", type=type(error).__name__)
                pause_s = _LONGEST_PAUSE_S
            await asyncio.sleep(pause_s)

    # -- one match -------------------------------------------------------------------------------

    async def _run(self, match_id: bytes) -> None:
        pause_s = _FIRST_PAUSE_S
        while not self._host.hub.closed:
            try:
                await self._follow(match_id)
            except StoreError as error:  # the store is away, and the bots go on when it is back
                self._tell(match_id, error)
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            except EXPECTED as error:
                self._tell(match_id, error)  # it cannot even be read: found again when the server looks next
                return
            else:
                return

    async def _follow(self, match_id: bytes) -> None:
        hub, waiter, pause_s = self._host.hub, Waiter(), _FIRST_PAUSE_S
        hub.add(match_id, waiter)
        self._pulse.join()
        try:
            async with self._loading:
                hosted = await self._host.fresh(match_id)
            while not hub.closed:
                waiter.clear()
                try:
                    if await self._play(hosted):
                        pause_s = _FIRST_PAUSE_S
                        continue
                except Exception as error:
                    if _is_over(error):
                        return
                    self._tell(match_id, error)
                    await asyncio.sleep(pause_s)
                    pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
                    hosted = await self._host.fresh(match_id)
                    continue
                if hosted.match.over:
                    return
                waiter.position = hosted.match.seq + 1
                await waiter.wait()
                hosted = await self._host.hosted(match_id)
        finally:
            hub.remove(match_id, waiter)
            self._pulse.leave()

    async def _play(self, hosted: Hosted) -> bool:
        """Let the bots that may act do so; False if none may."""
        match = hosted.match
        due = [seat for seat in match.to_act if match.seats[seat].hosted]
        if not due or match.paused:
            return False
        names = await self._host.store.bots(match.match_id)
        for seat in due:
            now = hosted.match
            if now.decision == match.decision and seat in now.to_act:
                await self._act(hosted, seat, names.get(seat, ""))
        return True

    async def _act(self, hosted: Hosted, seat: int, name: str) -> None:
        match = hosted.match
        request_id = sha256(b"sixledger/bot/1\n", match.match_id, u16(seat), u64(match.decision))[:16]
        cause = record_pb2.Cause(
            kind=record_pb2.CAUSE_KIND_SEAT, seat=seat, request_id=request_id, decision=match.decision
        )
        command = match.game.schema.commands.pack(self._choose(hosted, seat, name))
        action = engine_service_pb2.Action(
            cause=cause, time_us=self._host.clock(), command=command.SerializeToString(deterministic=True)
        )
        try:
            await self._host.act(match.match_id, action)
        except ServiceError as error:
            if error.reason != error_pb2.REASON_STALE_DECISION:
                raise  # else another replica was faster

    def _choose(self, hosted: Hosted, seat: int, name: str) -> Any:
        """The command of a bot. One that fails, or breaks the rules, plays the first legal command instead."""
        match = hosted.match
        view = match.game.view(match.state, seat)
        text = b"sixledger/bot-random/1\n" + match.match_id + u16(seat) + u64(match.decision)
        random = Random(hmac.digest(hosted.row.root_secret, text, "sha256"))  # noqa: S311  # as unforeseeable as the secret
        legal = match.game.legal(match.state, seat)
        try:
            chosen = bot(match.game.id, check_bot(match.game.id, name))(view, random)
        except Exception as error:  # whatever a policy does, the table goes on
            where = {"type": type(error).__name__, "at": places(error.__traceback__)}
            self._log.error("bot_failed", match=match.match_id.hex(), seat=seat, bot=name, errors=[where])
            return legal[0]
        if chosen not in legal:
            self._log.error("bot_illegal", match=match.match_id.hex(), seat=seat, bot=name)
            return legal[0]
        return chosen

    def _tell(self, match_id: bytes, error: Exception) -> None:
        where = {"type": type(error).__name__, "at": places(error.__traceback__)}
        self._log.error("bots_stopped", match=match_id.hex(), errors=[where])


def _is_over(error: Exception) -> bool:
    """True if the match ended in the meantime."""
    return isinstance(error, ServiceError) and error.reason == error_pb2.REASON_WRONG_PHASE
