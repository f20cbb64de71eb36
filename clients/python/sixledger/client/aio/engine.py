"""`client.engine`: stateless engines, for callers who keep the ledger themselves."""

from __future__ import annotations

from asyncio import Lock, Queue
from functools import partial

from sixledger.client.aio.driver import Driver
from sixledger.client.aio.engine_session import AsyncEngineSession
from sixledger.client.core.calls import EngineCalls, State
from sixledger.client.core.engine_session import EngineStream
from sixledger.client.core.session import Session
from sixledger.ledger.clocks import NO_POLICY
from sixledger.v1 import engine_service_pb2, game_pb2, record_pb2


class Engine:
    """The caller owns the match: the same calls make the same bytes.

    A `state` is a Checkpoint of an earlier reply, an EngineState, or all records with all their openings.
    """

    def __init__(self, driver: Driver, session: Session) -> None:
        """Made by the client."""
        self._driver = driver
        self._calls = EngineCalls(session)
        self._session = partial(AsyncEngineSession, driver)
        self._stream = partial(EngineStream, session, Lock, Queue)

    async def start(
        self,
        game: str,
        seats: int,
        options: game_pb2.Options | None = None,
        *,
        root_secret: bytes,
        match_id: bytes,
        request_id: bytes,
        time_us: int,
        mode: record_pb2.ContributionMode.ValueType = record_pb2.CONTRIBUTION_MODE_UNSPECIFIED,
        immediate: bool = False,
        clock: record_pb2.Clock | None = None,
        on_timeout: record_pb2.TimeoutPolicy.ValueType = NO_POLICY,
    ) -> engine_service_pb2.StartMatchResponse:
        """Make record 0. `root_secret` has 32 bytes, `match_id` and `request_id` 16, `time_us` is in microseconds.

        `immediate` closes the seats at once and starts the game in record 0. `clock` and `on_timeout` as for
        `client.matches.create`; the caller fires the `timers` of the replies, see `apply`. Raises UnknownGame,
        IllegalOptions or Malformed.
        """
        return await self._driver.run(
            self._calls.start(
                game, seats, options, root_secret, match_id, request_id, time_us, mode, immediate, clock, on_timeout
            )
        )

    async def apply(
        self, state: State, action: engine_service_pb2.Action, *, root_secret: bytes
    ) -> engine_service_pb2.ApplyActionResponse:
        """Make the next record. Raises IllegalCommand, StaleDecision, WrongPhase, BadSignature or Malformed.

        A timer fires with the action that `sixledger.ledger.clocks.fire` makes of it; nothing else happens later than
        the deadline of an armed timer: that raises TimerDue.
        """
        return await self._driver.run(self._calls.apply(state, root_secret, action))

    async def play(
        self,
        state: State,
        seat: int,
        command: game_pb2.Command,
        *,
        decision: int,
        root_secret: bytes,
        request_id: bytes,
        time_us: int,
    ) -> engine_service_pb2.ApplyActionResponse:
        """Make the record of a command of an unsigned seat. Raises what `apply` raises."""
        return await self._driver.run(
            self._calls.play(state, root_secret, seat, command, decision, request_id, time_us)
        )

    async def legal(self, state: State, seat: int) -> engine_service_pb2.ListEngineLegalCommandsResponse:
        """The open decision and the legal commands of a seat, in the order of the rules."""
        return await self._driver.run(self._calls.legal(state, seat))

    async def view(self, state: State, seat: int | None = None) -> engine_service_pb2.GetEngineViewResponse:
        """What a seat sees, or a spectator without `seat`."""
        return await self._driver.run(self._calls.view(state, seat))

    def session(self) -> AsyncEngineSession:
        """A session that keeps one match in the service for the length of a stream. Close it after use."""
        return self._session(self._stream())
