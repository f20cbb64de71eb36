"""`client.lobby`: tables before and after the game, and the tokens of owners."""

from __future__ import annotations

from sixledger.client.aio.driver import Driver
from sixledger.client.aio.tables import AsyncSeatedMatch
from sixledger.client.core.hosting import Hosting
from sixledger.client.core.lobby import LobbyCalls
from sixledger.client.core.session import Session
from sixledger.v1 import match_service_pb2, record_pb2


class Lobby:
    """Finding tables, filling them, beginning again."""

    def __init__(self, driver: Driver, session: Session, hosting: Hosting) -> None:
        """Made by the client."""
        self._driver = driver
        self._calls = LobbyCalls(session, hosting)

    # -- tables ------------------------------------------------------------------------------------

    async def tables(
        self, *, game: str = "", free_seats: bool = True, mine: bool = False, limit: int = 50
    ) -> list[match_service_pb2.MatchSummary]:
        """At most `limit` public tables that have not begun, newest first, of one game if given.

        Unless `free_seats` is false only those with a seat to take. `mine`: those opened with the client's API key,
        private ones too. Raises BadApiKey or MissingScope.
        """
        return await self._driver.run(self._calls.tables(game, free_seats, mine, limit))

    async def invite(
        self, match_id: bytes, owner_token: str, *, seat: int | None = None, valid: int = 0
    ) -> match_service_pb2.CreateInvitationResponse:
        """Make an invitation to a private table: to one seat or to any, for `valid` seconds (0: as long as a token).

        Whoever has it can join. Raises ForeignSeat, BadToken or WrongPhase.
        """
        return await self._driver.run(self._calls.invite(match_id, owner_token, seat, valid))

    async def close_seats(
        self, match_id: bytes, owner_token: str, *, request_id: bytes | None = None
    ) -> record_pb2.Record:
        """Close the seats with those that are taken: fewer play. The result is the record.

        The taken seats must be the first ones, and ready where the table asks for it. `request_id` (16 bytes, by
        default random) makes a repetition harmless. Raises ForeignSeat, BadToken or WrongPhase.
        """
        return await self._driver.run(self._calls.close_seats(match_id, owner_token, request_id))

    async def seat_bot(
        self,
        match_id: bytes,
        owner_token: str,
        seat: int,
        *,
        bot: str = "",
        display_name: str = "",
        request_id: bytes | None = None,
    ) -> record_pb2.Record:
        """Fill a seat with a bot that the service plays; `bot` is its name, by default the best one of the game.

        The result is the record, in which the seat is marked as hosted. Raises SeatTaken, Malformed, ForeignSeat,
        BadToken or WrongPhase.
        """
        return await self._driver.run(self._calls.seat_bot(match_id, owner_token, seat, bot, display_name, request_id))

    # -- rematches ---------------------------------------------------------------------------------

    async def rematch(self, match_id: bytes, token: str) -> match_service_pb2.CreateRematchResponse:
        """Open the rematch of a finished match, or find it; `token` is that of its owner or of one of its seats.

        The new table is private: old players claim their rotated seats with `join_rematch`. Raises WrongPhase,
        ForeignSeat or BadToken.
        """
        return await self._driver.run(self._calls.rematch(match_id, token))

    async def join_rematch(
        self,
        table: AsyncSeatedMatch,
        *,
        sign: bool = True,
        contribute: bool = True,
        display_name: str = "",
        save_to: str | None = None,
    ) -> AsyncSeatedMatch:
        """Take the own seat in the rematch of a finished match: the same game, one seat on.

        Opens the rematch if nobody has yet. The rest is as in `matches.join`. Raises WrongPhase, SeatTaken or
        ServerCheated.
        """
        flow = self._calls.join_rematch(table.flows, sign, contribute, display_name, save_to)
        return AsyncSeatedMatch(self._driver, await self._driver.run(flow))

    # -- tokens ------------------------------------------------------------------------------------

    async def refresh_token(self, match_id: bytes, token: str) -> match_service_pb2.RefreshTokenResponse:
        """A fresh token of an owner or a seat for a valid one, which stays valid. Seats do it with their table."""
        return await self._driver.run(self._calls.refresh_token(match_id, token))

    async def revoke_seat(self, match_id: bytes, owner_token: str, seat: int) -> None:
        """Make all tokens of a seat worthless for ever: nobody acts for it any more.

        Raises ForeignSeat, BadToken or WrongPhase.
        """
        await self._driver.run(self._calls.revoke_seat(match_id, owner_token, seat))

    async def revoke_invitations(self, match_id: bytes, owner_token: str) -> None:
        """Make all invitations made so far worthless. Raises ForeignSeat or BadToken."""
        await self._driver.run(self._calls.revoke_invitations(match_id, owner_token))

    async def revoke_own(self, match_id: bytes, token: str) -> match_service_pb2.RevokeTokensResponse:
        """Make all tokens of the caller worthless, an owner's or a seat's, but the fresh one in the reply."""
        return await self._driver.run(self._calls.revoke_own(match_id, token))
