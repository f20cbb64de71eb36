"""Flows around a match: what owners do with their tables, rematches, and tokens."""

from __future__ import annotations

import secrets

from google.protobuf.message import Message
from sixledger.client.core import owner
from sixledger.client.core.flow import Flow, Unary
from sixledger.client.core.hosting import Hosting
from sixledger.client.core.session import MATCHES, Session
from sixledger.client.core.table import SeatTable
from sixledger.client.core.tracker import Tracker
from sixledger.client.credentials import Credentials
from sixledger.client.errors import BadHead, Tampered
from sixledger.ledger.match import Match
from sixledger.v1 import match_service_pb2, record_pb2


class LobbyCalls:
    """What happens around matches."""

    def __init__(self, session: Session, hosting: Hosting) -> None:
        """`hosting` takes seats."""
        self._session = session
        self._hosting = hosting

    # -- tables ------------------------------------------------------------------------------------

    def tables(self, game: str, free_seats: bool, mine: bool, limit: int) -> Flow[list[match_service_pb2.MatchSummary]]:
        """Tables that have not begun, newest first."""
        return self._hosting.list(match_service_pb2.MATCH_STATUS_OPEN, game, limit, free_seats, mine)

    def invite(
        self, match_id: bytes, owner_token: str, seat: int | None, valid: int
    ) -> Flow[match_service_pb2.CreateInvitationResponse]:
        """An invitation to a private table."""
        request = match_service_pb2.CreateInvitationRequest(
            match_id=match_id, owner_token=owner_token, seat=seat, valid_s=valid
        )
        return self._session.call(MATCHES, "CreateInvitation", request)

    def close_seats(self, match_id: bytes, owner_token: str, request_id: bytes | None) -> Flow[record_pb2.Record]:
        """Close the seats with those that are taken."""
        request_id = request_id or secrets.token_bytes(16)
        request = match_service_pb2.CloseSeatsRequest(match_id=match_id, owner_token=owner_token, request_id=request_id)
        return self._act("CloseSeats", request, match_id, request_id)

    def seat_bot(
        self, match_id: bytes, owner_token: str, seat: int, bot: str, display_name: str, request_id: bytes | None
    ) -> Flow[record_pb2.Record]:
        """Fill a seat with a bot of the service."""
        request_id = request_id or secrets.token_bytes(16)
        request = match_service_pb2.SeatBotRequest(
            match_id=match_id,
            owner_token=owner_token,
            request_id=request_id,
            seat=seat,
            bot=bot,
            display_name=display_name,
        )
        return self._act("SeatBot", request, match_id, request_id)

    def _act(self, method: str, request: Message, match_id: bytes, request_id: bytes) -> Flow[record_pb2.Record]:
        """The record of an act of the owner."""
        keys = yield from self._session.origin_keys()
        reply = yield from self._session.call(MATCHES, method, request)
        yield from self._session.meet(reply.head)
        return owner.answered(reply, match_id, keys, request_id, step="closed" if method == "CloseSeats" else "joined")

    # -- rematches ---------------------------------------------------------------------------------

    def rematch(self, match_id: bytes, token: str) -> Flow[match_service_pb2.CreateRematchResponse]:
        """The rematch of a finished match."""
        reply, _ = yield from self._rematch(match_id, token)
        return reply

    def _rematch(self, match_id: bytes, token: str) -> Flow[tuple[match_service_pb2.CreateRematchResponse, Match]]:
        keys = yield from self._session.origin_keys()
        request = match_service_pb2.CreateRematchRequest(match_id=match_id, token=token)
        reply = yield from self._session.call(MATCHES, "CreateRematch", request)
        if not reply.head:
            raise BadHead("the rematch comes without a signed head")
        yield from self._session.meet(reply.head)
        tracker = Tracker(reply.match_id, keys, registry=self._session.registry)
        tracker.receive(reply.record, head=reply.head)
        return reply, tracker.match

    def join_rematch(
        self, table: SeatTable, sign: bool, contribute: bool, display_name: str, save_to: str | None
    ) -> Flow[SeatTable]:
        """The rotated seat in the rematch of a match that was played at `table`."""
        old, own = table.tracker.match, table.credentials
        reply, new = yield from self._rematch(own.match_id, own.token)
        count = len(old.seats)
        same = (new.game.id, new.opened.seats, new.opened.mode, new.setup.options) == (
            old.game.id, count, old.opened.mode, old.setup.options,
        )  # fmt: skip
        limits = (new.opened.clock, new.opened.timeout_policy) == (old.opened.clock, old.opened.timeout_policy)
        if not (same and limits) or reply.seat != (own.seat + count - 1) % count:
            raise Tampered("the rematch is not the same game with rotated seats", layer="rules", seq=0)
        wants = contribute and new.opened.mode != record_pb2.CONTRIBUTION_MODE_SERVER_ONLY
        credentials = Credentials.new(
            reply.match_id,
            reply.seat,
            sign=sign,
            contribute=wants,
            display_name=display_name or own.display_name,
            invitation=own.token,
        )
        if save_to is not None:
            credentials.save(save_to)
        return (yield from self._hosting.resume(credentials))

    # -- tokens ------------------------------------------------------------------------------------

    def refresh_token(self, match_id: bytes, token: str) -> Flow[match_service_pb2.RefreshTokenResponse]:
        """A fresh token for a valid one."""
        request = match_service_pb2.RefreshTokenRequest(match_id=match_id, token=token)
        return self._session.call(MATCHES, "RefreshToken", request)

    def revoke_seat(self, match_id: bytes, owner_token: str, seat: int) -> Flow[None]:
        """Make all tokens of a seat worthless for ever."""
        request = match_service_pb2.RevokeTokensRequest(match_id=match_id, token=owner_token, seat=seat)
        yield from self._session.call(MATCHES, "RevokeTokens", request)

    def revoke_invitations(self, match_id: bytes, owner_token: str) -> Flow[None]:
        """Make all invitations made so far worthless."""
        request = match_service_pb2.RevokeTokensRequest(
            match_id=match_id, token=owner_token, invitations=match_service_pb2.Invitations()
        )
        yield from self._session.call(MATCHES, "RevokeTokens", request)

    def revoke_own(self, match_id: bytes, token: str) -> Flow[match_service_pb2.RevokeTokensResponse]:
        """Make all tokens of the caller worthless but the fresh one in the reply."""
        request = match_service_pb2.RevokeTokensRequest(
            match_id=match_id, token=token, own=match_service_pb2.OwnTokens()
        )
        # Not repeated: after the first time the old token is worth nothing.
        reply: match_service_pb2.RevokeTokensResponse = yield Unary(
            MATCHES, "RevokeTokens", request, self._session.settings.timeout
        )
        return reply
