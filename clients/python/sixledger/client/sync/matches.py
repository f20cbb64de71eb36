"""`client.matches`: hosted matches."""

from __future__ import annotations

from pathlib import Path
from threading import Lock

from google.protobuf.message import Message
from sixledger.client.core.hosting import SERVER_ONLY, UNSPECIFIED, CreatedMatch, Hosting, Mode
from sixledger.client.core.session import Session
from sixledger.client.credentials import Credentials
from sixledger.client.sync.driver import Driver
from sixledger.client.sync.tables import SeatedMatch, WatchedMatch
from sixledger.v1 import match_service_pb2, record_pb2

__all__ = ["SERVER_ONLY", "CreatedMatch", "Matches"]

ANY_STATUS = match_service_pb2.MATCH_STATUS_UNSPECIFIED


class Matches:
    """Opening, joining, watching and reading matches."""

    def __init__(self, driver: Driver, session: Session) -> None:
        """Made by the client."""
        self._driver = driver
        self._hosting = Hosting(session, Lock)

    # -- opening and joining -----------------------------------------------------------------------

    def create(
        self,
        game: str,
        *,
        seats: int,
        options: Message | None = None,
        mode: Mode = UNSPECIFIED,
        secret: bytes | None = None,
    ) -> CreatedMatch:
        """Open a match, and check that it is the one asked for.

        `options` are the game's Options or the envelope; absent ones take their defaults. `mode` says how the
        seats share in the randomness, by default commit and reveal. The same call with the same `secret`
        (32 bytes, by default random) gives the same match. Raises UnknownGame, IllegalOptions or ServerCheated.
        """
        return self._driver.run(self._hosting.create(game, seats, options, mode, secret))

    def join(
        self,
        match_id: bytes,
        seat: int,
        *,
        sign: bool = True,
        contribute: bool = True,
        display_name: str = "",
        save_to: str | Path | None = None,
    ) -> SeatedMatch:
        """Take a seat with a fresh key and a fresh contribution to the randomness.

        With `sign` every act of the seat is signed. With `contribute` the seat takes part in the randomness,
        if the match takes contributions. `save_to` is a file for the credentials, written with mode 0600
        before the seat is taken. Raises SeatTaken, UnknownMatch, UnknownRuleset, WrongPhase or ServerCheated.
        """
        return SeatedMatch(
            self._driver,
            self._driver.run(self._hosting.join(match_id, seat, sign, contribute, display_name, save_to)),
        )

    def resume(self, credentials: Credentials) -> SeatedMatch:
        """Go on with a seat, after a restart for example.

        Credentials without a token join first; that repeats a join whose reply got lost, and otherwise takes the
        seat. Raises OriginChanged if the match began with another origin, and what `join` raises.
        """
        return SeatedMatch(self._driver, self._driver.run(self._hosting.resume(credentials)))

    def watch_match(self, match_id: bytes) -> WatchedMatch:
        """The table of a spectator. Raises UnknownMatch when it is first read."""
        return WatchedMatch(self._driver, self._driver.run(self._hosting.watch_match(match_id)))

    def abort(self, match_id: bytes, owner_token: str, *, request_id: bytes | None = None) -> record_pb2.Record:
        """Abort a match without a winner; `owner_token` is that of `create`. The result is the record.

        `request_id` (16 bytes, by default random) makes a repetition harmless. Raises ForeignSeat, BadToken
        or WrongPhase.
        """
        return self._driver.run(self._hosting.abort(match_id, owner_token, request_id))

    def table_command(
        self, match_id: bytes, owner_token: str, command: Message, *, request_id: bytes | None = None
    ) -> record_pb2.Record:
        """Give a command of the table, for example that time is up; `owner_token` is that of `create`.

        `command` is a concrete message of the game, its Command, or the envelope. `request_id` (16 bytes, by
        default random) makes a repetition harmless. The result is the record. Raises IllegalCommand, Malformed,
        ForeignSeat, BadToken or WrongPhase.
        """
        return self._driver.run(self._hosting.table_command(match_id, owner_token, command, request_id))

    # -- reading -----------------------------------------------------------------------------------

    def get(self, match_id: bytes) -> match_service_pb2.GetMatchResponse:
        """What stands in public about a match, as the service says. Raises UnknownMatch."""
        return self._driver.run(self._hosting.get(match_id))

    def list(
        self, *, status: match_service_pb2.MatchStatus.ValueType = ANY_STATUS, game: str = "", limit: int = 50
    ) -> list[match_service_pb2.MatchSummary]:
        """At most `limit` matches, newest first, of one status and one game if given."""
        return self._driver.run(self._hosting.list(status, game, limit))

    def view(self, match_id: bytes, token: str = "") -> match_service_pb2.GetViewResponse:
        """What the service shows to the seat of `token`, or to a spectator. Tables compute it themselves."""
        return self._driver.run(self._hosting.view(match_id, token))

    def legal(self, match_id: bytes, token: str) -> match_service_pb2.ListLegalCommandsResponse:
        """What the seat of `token` may do, as the service says. Tables compute it themselves."""
        return self._driver.run(self._hosting.legal(match_id, token))

    def records(
        self, match_id: bytes, token: str = "", *, first_seq: int = 0, page_size: int = 200
    ) -> match_service_pb2.ListRecordsResponse:
        """At most `page_size` (1 to 1000) records from `first_seq` on, unchecked, for the seat of `token`."""
        return self._driver.run(self._hosting.records(match_id, token, first_seq, page_size))

    def export(self, match_id: bytes, path: str | Path, token: str = "") -> Path:
        """Write the ledger file that the service makes for the seat of `token`, unchecked, to `path`.

        Whole or not at all. Verify it: `sixledger verify`, or `client.replay.verify`.
        """
        return self._driver.run(self._hosting.export(match_id, path, token))
