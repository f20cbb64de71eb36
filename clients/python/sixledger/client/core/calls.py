"""Flows of the catalogue, of the stateless engine and of the verifier."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from google.protobuf.message import Message
from sixledger.client.core.flow import Flow, Unary
from sixledger.client.core.session import ACCESS, CATALOG, ENGINE, REPLAY, Session
from sixledger.ledger.heads import VerifierKey
from sixledger.ledger.key_list import SignedKeyList
from sixledger.v1 import (
    access_service_pb2,
    catalog_service_pb2,
    engine_service_pb2,
    game_pb2,
    record_pb2,
    replay_service_pb2,
)

State: TypeAlias = engine_service_pb2.EngineState | engine_service_pb2.Checkpoint | Iterable[record_pb2.Record]


class CatalogCalls:
    """What a service offers."""

    def __init__(self, session: Session) -> None:
        """Calls of one session."""
        self._session = session

    def games(self) -> Flow[list[catalog_service_pb2.GameInfo]]:
        """All games."""
        reply = yield from self._session.call(CATALOG, "ListGames", catalog_service_pb2.ListGamesRequest())
        return list(reply.games)

    def game(self, game: str) -> Flow[catalog_service_pb2.GetGameResponse]:
        """One game with its rules."""
        return self._session.call(CATALOG, "GetGame", catalog_service_pb2.GetGameRequest(id=game))

    def origin(self) -> Flow[VerifierKey]:
        """The key of the service that signs now."""
        keys = yield from self._session.origin_keys()
        return keys.current

    def key_list(self) -> Flow[SignedKeyList | None]:
        """The list of the service's keys, as it is now."""
        return self._session.learn()

    def server(self) -> Flow[catalog_service_pb2.GetOriginResponse]:
        """Name, key and version of the service."""
        return self._session.call(CATALOG, "GetOrigin", catalog_service_pb2.GetOriginRequest())


class EngineCalls:
    """Engines without hosting."""

    def __init__(self, session: Session) -> None:
        """Calls of one session."""
        self._session = session

    def start(
        self,
        game: str,
        seats: int,
        options: game_pb2.Options | None,
        root_secret: bytes,
        match_id: bytes,
        request_id: bytes,
        time_us: int,
        mode: record_pb2.ContributionMode.ValueType,
        immediate: bool,
        clock: record_pb2.Clock | None,
        on_timeout: record_pb2.TimeoutPolicy.ValueType,
    ) -> Flow[engine_service_pb2.StartMatchResponse]:
        """Record 0."""
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
        return self._session.call(ENGINE, "StartMatch", request)

    def apply(
        self, state: State, root_secret: bytes, action: engine_service_pb2.Action
    ) -> Flow[engine_service_pb2.ApplyActionResponse]:
        """The next record."""
        request = engine_service_pb2.ApplyActionRequest(
            state=engine_state(state), root_secret=root_secret, action=action
        )
        return self._session.call(ENGINE, "ApplyAction", request)

    def play(
        self,
        state: State,
        root_secret: bytes,
        seat: int,
        command: game_pb2.Command,
        decision: int,
        request_id: bytes,
        time_us: int,
    ) -> Flow[engine_service_pb2.ApplyActionResponse]:
        """The record of a command of an unsigned seat."""
        cause = record_pb2.Cause(kind=record_pb2.CAUSE_KIND_SEAT, seat=seat, request_id=request_id, decision=decision)
        data = command.SerializeToString(deterministic=True)
        return self.apply(state, root_secret, engine_service_pb2.Action(cause=cause, time_us=time_us, command=data))

    def legal(self, state: State, seat: int) -> Flow[engine_service_pb2.ListEngineLegalCommandsResponse]:
        """The legal commands of a seat."""
        request = engine_service_pb2.ListEngineLegalCommandsRequest(state=engine_state(state), seat=seat)
        return self._session.call(ENGINE, "ListEngineLegalCommands", request)

    def view(self, state: State, seat: int | None) -> Flow[engine_service_pb2.GetEngineViewResponse]:
        """What a seat or a spectator sees."""
        request = engine_service_pb2.GetEngineViewRequest(state=engine_state(state), seat=seat)
        return self._session.call(ENGINE, "GetEngineView", request)


class AccessCalls:
    """API keys."""

    def __init__(self, session: Session) -> None:
        """Calls of one session."""
        self._session = session

    def create(
        self,
        name: str,
        scopes: Iterable[access_service_pb2.ApiScope.ValueType],
        valid: int,
        calls_per_second: int,
        open_matches: int,
        replaces: str,
        overlap: int,
    ) -> Flow[access_service_pb2.CreateApiKeyResponse]:
        """A new key. Not repeated: each call makes one."""
        request = access_service_pb2.CreateApiKeyRequest(
            name=name,
            scopes=scopes,
            valid_s=valid,
            calls_per_second=calls_per_second,
            open_matches=open_matches,
            replaces=replaces,
            overlap_s=overlap,
        )
        reply: access_service_pb2.CreateApiKeyResponse = yield Unary(
            ACCESS, "CreateApiKey", request, self._session.settings.timeout
        )
        return reply

    def list(self) -> Flow[Sequence[access_service_pb2.ApiKey]]:
        """All keys."""
        reply = yield from self._session.call(ACCESS, "ListApiKeys", access_service_pb2.ListApiKeysRequest())
        return tuple(reply.keys)

    def revoke(self, key_id: str, overlap: int) -> Flow[access_service_pb2.ApiKey]:
        """End a key."""
        request = access_service_pb2.RevokeApiKeyRequest(id=key_id, overlap_s=overlap)
        reply = yield from self._session.call(ACCESS, "RevokeApiKey", request)
        key: access_service_pb2.ApiKey = reply.key
        return key


class ReplayCalls:
    """Verification by a service."""

    def __init__(self, session: Session) -> None:
        """Calls of one session."""
        self._session = session

    def verify(self, path: str | Path, trusted_keys: Sequence[str]) -> Flow[replay_service_pb2.VerifyReport]:
        """The service's report on a ledger file."""
        size = self._session.settings.chunk
        with Path(path).open("rb"):  # fails here rather than inside the transport
            pass

        def pieces() -> Iterator[Message]:
            with Path(path).open("rb") as stream:
                keys, chunk = list(trusted_keys), stream.read(size)
                while chunk or keys:
                    yield replay_service_pb2.VerifyLedgerRequest(chunk=chunk, trusted_keys=keys)
                    keys, chunk = [], stream.read(size)

        reply = yield from self._session.upload(REPLAY, "VerifyLedger", pieces)
        report: replay_service_pb2.VerifyReport = reply.report
        return report


def engine_state(state: State) -> engine_service_pb2.EngineState:
    """The state as a message."""
    if isinstance(state, engine_service_pb2.EngineState):
        return state
    if isinstance(state, engine_service_pb2.Checkpoint):
        return engine_service_pb2.EngineState(checkpoint=state)
    return engine_service_pb2.EngineState(ledger=engine_service_pb2.Ledger(records=state))
