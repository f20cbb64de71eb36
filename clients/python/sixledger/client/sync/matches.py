"""`client.matches`: hosted matches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Lock

from google.protobuf.message import Message
from sixledger.client.core.hosting import UNSPECIFIED, CreatedMatch, Hosting, Mode
from sixledger.client.core.recorded import Recorded
from sixledger.client.core.session import Session
from sixledger.client.credentials import Credentials
from sixledger.client.errors import ClientError
from sixledger.client.sync.driver import Driver
from sixledger.client.sync.streams import MatchStream
from sixledger.client.sync.tables import SeatedMatch, WatchedMatch
from sixledger.ledger.clocks import NO_POLICY
from sixledger.v1 import match_service_pb2, record_pb2

ANY_STATUS = match_service_pb2.MATCH_STATUS_UNSPECIFIED


class Matches:
    """Opening, joining, watching and reading matches."""

    def __init__(self, driver: Driver, session: Session) -> None:
        """Made by the client."""
        self._driver = driver
        self._stream = partial(MatchStream, driver)
        self._hosting = Hosting(session, Lock, SimpleQueue)

    @property
    def flows(self) -> Hosting:
        """What the calls do, as flows: for the other areas of the client."""
        return self._hosting

    # -- opening and joining -----------------------------------------------------------------------

    def create(
        self,
        game: str,
        *,
        seats: int,
        options: Message | None = None,
        mode: Mode = UNSPECIFIED,
        ready_seats: int = 0,
        private: bool = False,
        spectators: bool = True,
        clock: record_pb2.Clock | None = None,
        on_timeout: record_pb2.TimeoutPolicy.ValueType = NO_POLICY,
        secret: bytes | None = None,
    ) -> CreatedMatch:
        """Open a match, and check that it is the one asked for.

        `options` are the game's Options or the envelope; absent ones take their defaults. `mode` says how the
        seats share in the randomness, by default commit and reveal. The same call with the same `secret`
        (32 bytes, by default random) gives the same match.

        `ready_seats` asks every player to be ready, and lets so many begin (0: it begins when all seats are taken).
        A `private` table is in no list, and is joined with an invitation of `client.lobby`. Without `spectators` only
        its seats may look on.

        `clock` holds the time limits (`time_limits` makes one from seconds), and `on_timeout` says what happens when a
        seat runs out of time: nothing, TIMEOUT_POLICY_FIRST_LEGAL (its first legal command is played) or
        TIMEOUT_POLICY_FORFEIT (it loses). Without its limits `contribute` and `reveal` a seat that never contributes
        keeps the table waiting until the owner aborts it. Raises UnknownGame, IllegalOptions, Malformed or
        ServerCheated.
        """
        return self._driver.run(
            self._hosting.create(
                game, seats, options, mode, secret, ready_seats, private, spectators, clock, on_timeout
            )
        )

    def join(
        self,
        match_id: bytes,
        seat: int | None = None,
        *,
        sign: bool = True,
        contribute: bool = True,
        display_name: str = "",
        save_to: str | Path | None = None,
        invitation: str = "",
    ) -> SeatedMatch:
        """Take a seat, by default the first free one, with a fresh key and a fresh contribution to the randomness.

        With `sign` every act of the seat is signed. With `contribute` the seat takes part in the randomness,
        if the match takes contributions. `save_to` is a file for the credentials, written with mode 0600
        before the seat is taken. `invitation` is needed at a private table.
        Raises SeatTaken, NotInvited, UnknownMatch, UnknownRuleset, WrongPhase or ServerCheated.
        """
        return SeatedMatch(
            self._driver,
            self._driver.run(self._hosting.join(match_id, seat, sign, contribute, display_name, save_to, invitation)),
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

    def pause(self, match_id: bytes, owner_token: str, *, request_id: bytes | None = None) -> record_pb2.Record:
        """Pause a running match: no time runs, and no command is accepted. The result is the record.

        `owner_token` and `request_id` as for `abort`. Raises ForeignSeat, BadToken, MatchPaused (it is paused already)
        or WrongPhase.
        """
        return self._driver.run(self._hosting.pause(match_id, owner_token, request_id, resume=False))

    def unpause(self, match_id: bytes, owner_token: str, *, request_id: bytes | None = None) -> record_pb2.Record:
        """Let a paused match go on. The result is the record.

        `owner_token` and `request_id` as for `abort`. Raises ForeignSeat, BadToken or WrongPhase.
        """
        return self._driver.run(self._hosting.pause(match_id, owner_token, request_id, resume=True))

    # -- playing several ---------------------------------------------------------------------------

    def stream(self) -> MatchStream:
        """A stream for any number of matches: commands up, records and replies down. Close it after use."""
        return self._stream(self._hosting.streaming())

    def play_all(self, moves: Sequence[tuple[SeatedMatch, Message]]) -> list[Recorded | ClientError]:
        """Play a command at each of several tables, in one call. The results are in the order of the moves.

        A command that was refused has its error as the result. Raises ServerCheated.
        """
        return self._driver.run(self._hosting.play_all([(table._seat, command) for table, command in moves]))

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
        self,
        *,
        status: match_service_pb2.MatchStatus.ValueType = ANY_STATUS,
        game: str = "",
        limit: int = 50,
        free_seats: bool = False,
        mine: bool = False,
    ) -> list[match_service_pb2.MatchSummary]:
        """At most `limit` public matches, newest first, of one status and one game if given.

        `free_seats`: only those with a seat to take. `mine`: those opened with the client's API key, private ones too.
        """
        return self._driver.run(self._hosting.list(status, game, limit, free_seats, mine))

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

        Whole or not at all, gzipped if `path` ends with `.gz`. To verify it: `sixledger verify`, or
        `client.replay.verify`.
        """
        return self._driver.run(self._hosting.export(match_id, path, token))
