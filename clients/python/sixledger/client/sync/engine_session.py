"""`client.engine.session()`: one match, kept by the service for the length of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from sixledger.client.core.calls import State, engine_state
from sixledger.client.core.engine_session import EngineStream
from sixledger.client.errors import ClientError
from sixledger.client.sync.driver import Driver
from sixledger.ledger.clocks import NO_POLICY
from sixledger.v1 import engine_service_pb2, game_pb2, record_pb2


class EngineSession:
    """A match of the caller's, without sending its state back and forth. The caller keeps the ledger.

    Start or load a match first; doing it again replaces the match. When the stream breaks (TransportError, Unavailable)
    the service has forgotten the match: load it again from the ledger or a checkpoint, and go on. Steps of several
    callers are done one after the other.
    """

    def __init__(self, driver: Driver, stream: EngineStream) -> None:
        """Made by `client.engine`."""
        self._driver = driver
        self._stream = stream

    def start(
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
    ) -> record_pb2.Record:
        """Make record 0, as `client.engine.start` does. Raises UnknownGame, IllegalOptions or Malformed."""
        request = engine_service_pb2.StartMatchRequest(
            game=game,
            seats=seats,
            options=options,
            root_secret=root_secret,
            match_id=match_id,
            request_id=request_id,
            time_us=time_us,
            mode=mode,
            immediate=immediate,
            clock=clock,
            timeout_policy=on_timeout,
        )
        return self._driver.run(self._stream.record(engine_service_pb2.SessionStep(start=request)))

    def load(self, state: State, *, root_secret: bytes) -> int:
        """Go on with a match: a Checkpoint, an EngineState, or all records with all their openings.

        The result is the number of its last record. Raises Malformed.
        """
        load = engine_service_pb2.SessionLoad(state=engine_state(state), root_secret=root_secret)
        result = self._driver.run(self._stream.one(engine_service_pb2.SessionStep(load=load), "loaded"))
        return result.loaded.seq

    def apply(self, action: engine_service_pb2.Action) -> record_pb2.Record:
        """Make the next record. Raises IllegalCommand, StaleDecision, WrongPhase, BadSignature or Malformed."""
        return self._driver.run(self._stream.record(engine_service_pb2.SessionStep(action=action)))

    def apply_all(self, actions: Sequence[engine_service_pb2.Action]) -> list[record_pb2.Record | ClientError]:
        """Make several records in one message. The first action that fails ends the list with its error."""
        steps = [engine_service_pb2.SessionStep(action=action) for action in actions]
        return self._driver.run(self._stream.records(steps))

    def play(
        self, seat: int, command: game_pb2.Command, *, decision: int, request_id: bytes, time_us: int
    ) -> record_pb2.Record:
        """Make the record of a command of an unsigned seat. Raises what `apply` raises."""
        cause = record_pb2.Cause(kind=record_pb2.CAUSE_KIND_SEAT, seat=seat, request_id=request_id, decision=decision)
        data = command.SerializeToString(deterministic=True)
        action = engine_service_pb2.Action(cause=cause, time_us=time_us, command=data)
        return self._driver.run(self._stream.record(engine_service_pb2.SessionStep(action=action)))

    def legal(self, seat: int) -> engine_service_pb2.ListEngineLegalCommandsResponse:
        """The open decision and the legal commands of a seat, in the order of the rules."""
        step = engine_service_pb2.SessionStep(legal=engine_service_pb2.SessionLegal(seat=seat))
        return self._driver.run(self._stream.one(step, "legal")).legal

    def view(self, seat: int | None = None) -> engine_service_pb2.GetEngineViewResponse:
        """What a seat sees, or a spectator without `seat`."""
        step = engine_service_pb2.SessionStep(view=engine_service_pb2.SessionView(seat=seat))
        return self._driver.run(self._stream.one(step, "view")).view

    def timers(self) -> list[engine_service_pb2.Timer]:
        """The armed timers of the match, the first to fire first."""
        step = engine_service_pb2.SessionStep(ping=engine_service_pb2.SessionPing())
        result = self._driver.run(self._stream.one(step, "pong"))
        return list(result.timers)

    def checkpoint(self) -> engine_service_pb2.Checkpoint:
        """Where the match stands: enough to load it again. Holds secrets, but never the root secret."""
        step = engine_service_pb2.SessionStep(ping=engine_service_pb2.SessionPing(), with_checkpoint=True)
        return self._driver.run(self._stream.one(step, "pong")).checkpoint

    def close(self) -> None:
        """End the session. Harmless when repeated."""
        self._stream.close()

    def __enter__(self) -> Self:
        """The session itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End it."""
        self.close()
