"""The calls of MatchService before the game starts and after it has ended, and those of owners.

Joining and leaving, readiness, closing the seats, bots, invitations, rematches, and the tokens of all.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass

from sixledger.ledger.hashing import sha256, u16
from sixledger.service import caller
from sixledger.service.api_keys import ApiKeys
from sixledger.service.audit import audit
from sixledger.service.bots import UNFINISHED, BotRunner, check_bot
from sixledger.service.errors import (
    ServiceError,
    foreign_seat,
    malformed,
    not_invited,
    quota_exceeded,
    wrong_phase,
)
from sixledger.service.fields import check_command, check_match_id, check_name, check_request_id, check_signing
from sixledger.service.host import MatchHost
from sixledger.service.hosted import Hosted
from sixledger.service.idempotency import join_request_id
from sixledger.service.matches import Posted
from sixledger.service.redaction import record_for
from sixledger.service.store import MatchRow, TokenFloor
from sixledger.service.tokens import ANY_SEAT, INVITATIONS, LOCKED, OWNER_SEAT, Claims, Role, TokenMint
from sixledger.v1 import access_service_pb2, engine_service_pb2, record_pb2
from sixledger.v1 import match_service_pb2 as pb

_SEAT, _TABLE = record_pb2.CAUSE_KIND_SEAT, record_pb2.CAUSE_KIND_TABLE


@dataclass(frozen=True, slots=True)
class OwnerRules:
    """Who may open matches."""

    #: Only whoever shows an API key with the scope CREATE.
    needs_key: bool = False
    #: Matches open at a time for an owner without a limit of its own; 0: as many as it likes.
    open_matches: int = 0


class Lobby:
    """The part of MatchService that is about seats rather than play. A base of its servicer."""

    def __init__(
        self,
        host: MatchHost,
        tokens: TokenMint,
        bots: BotRunner,
        keys: ApiKeys | None = None,
        rules: OwnerRules | None = None,
    ) -> None:
        """Serve the matches of `host` to the holders of `tokens`; without `keys` there are none."""
        self._host = host
        self._tokens = tokens
        #: Plays the seats that the server has taken.
        self.bots = bots
        self._keys = keys or ApiKeys(host.store, host.clock)
        self._rules = rules or OwnerRules()

    # -- opening and joining ---------------------------------------------------------------------

    async def CreateMatch(self, request: pb.CreateMatchRequest) -> pb.CreateMatchResponse:
        """Open a match."""
        owner, limit = await self._owner()
        posted = await self._host.create(request, owner=owner, admit=lambda: self._check_quota(owner, limit))
        return pb.CreateMatchResponse(
            match_id=posted.hosted.match.match_id,
            owner_token=self._token(Role.OWNER, posted, OWNER_SEAT),
            record=_first_record(posted),
            head=self._host.head(posted.hosted, posted),
        )

    async def JoinMatch(self, request: pb.JoinMatchRequest) -> pb.JoinMatchResponse:
        """Take a seat."""
        match_id = check_match_id(request.match_id)
        if request.secret and len(request.secret) != 32:
            raise malformed("secret", "must be 32 bytes, or absent")
        if request.signature and not request.secret:
            raise malformed("secret", "is needed to sign: the request id follows from it")
        check_signing(request.observed_head, request.signature, "")
        request_id = join_request_id(match_id, request.secret or secrets.token_bytes(32))
        cause = record_pb2.Cause(
            kind=_SEAT,
            seat=request.seat,
            request_id=request_id,
            observed_head=request.observed_head,
            signature=request.signature,
        )
        join = engine_service_pb2.JoinAction(public_key=request.public_key, contributes=request.contributes)
        action = engine_service_pb2.Action(cause=cause, time_us=self._host.clock(), join=join)
        name = check_name(request.display_name)
        posted = await self._admitted(request, action)
        if posted is None:
            posted = await self._host.act(match_id, action, display_name=name or None)
        seats = posted.hosted.match.seats
        if request.seat >= len(seats) or not seats[request.seat].joined or seats[request.seat].since != posted.seq:
            raise wrong_phase(f"seat {request.seat} was given up since")
        record, _ = await self._shown(posted, request.seat)
        await self._host.store.look_up_floor(match_id, request.seat)  # the seat may just have been given up elsewhere
        token = self._token(Role.SEAT, posted, request.seat)
        return pb.JoinMatchResponse(token=token, record=record, head=self._host.head(posted.hosted, posted))

    async def _admitted(self, request: pb.JoinMatchRequest, action: engine_service_pb2.Action) -> Posted | None:
        """Nothing if the caller may join; the record if it has joined already. Raises NOT_INVITED."""
        row = (await self._host.hosted(request.match_id)).row
        if not row.private and not request.invitation:
            return None
        try:
            await self._check_invitation(row, request)
        except ServiceError:
            # Whoever was let in stays: the invitation may have ended since.
            found = await self._host.made_before(request.match_id, action)
            if found is None:
                raise
            return found
        return None

    async def _check_invitation(self, row: MatchRow, request: pb.JoinMatchRequest) -> None:
        if not request.invitation:
            raise not_invited("the call came without an invitation")
        now = self._host.clock()
        if row.rematch_of:
            try:
                claims = self._tokens.claims(request.invitation, row.rematch_of, now)
            except ServiceError:
                pass  # it is no token of the match before; perhaps an invitation to this one
            else:
                seats = (await self._host.hosted(row.match_id)).match.opened.seats
                if claims.role is Role.SEAT and _rotated(claims.seat, seats) == request.seat:
                    return
                raise not_invited(f"seat {request.seat} belongs to another player of the match before")
        claims = self._tokens.claims(request.invitation, row.match_id, now)
        if claims.role is Role.OWNER:
            return
        if claims.role is Role.SEAT:
            raise not_invited("the token of a seat is no invitation")
        if claims.seat not in (ANY_SEAT, request.seat):
            raise not_invited(f"the invitation is to seat {claims.seat}")

    async def LeaveMatch(self, request: pb.LeaveMatchRequest) -> pb.LeaveMatchResponse:
        """Give a seat up."""
        act = request.act
        match_id = check_match_id(act.match_id, "act.match_id")
        now = self._host.clock()
        claims = self._tokens.claims(act.token, match_id, now, revoked=True)
        if claims.role is not Role.SEAT:
            raise foreign_seat("not that of a seat")
        action = self._seat_action(act, claims.seat, now)
        action.leave.SetInParent()
        # Leaving ends the token, but not the right to hear of it: the same act gets the same reply.
        posted = await self._host.made_before(match_id, action)
        if posted is None:
            self._tokens.check_seat(act.token, match_id, now)
            posted = await self._host.act(match_id, action)
        return pb.LeaveMatchResponse(
            record=(await self._shown(posted, None))[0], head=self._host.head(posted.hosted, posted)
        )

    async def DeclareReady(self, request: pb.DeclareReadyRequest) -> pb.DeclareReadyResponse:
        """Say that a seat is ready."""
        seat, action = self._action(request.act)
        action.ready.SetInParent()
        posted = await self._host.act(request.act.match_id, action)
        record, _ = await self._shown(posted, seat)
        return pb.DeclareReadyResponse(record=record, head=self._host.head(posted.hosted, posted))

    # -- the owner -------------------------------------------------------------------------------

    async def CloseSeats(self, request: pb.CloseSeatsRequest) -> pb.CloseSeatsResponse:
        """Close the seats with those that are taken."""
        action = self._owner_action(request.match_id, request.owner_token, request.request_id)
        action.close.SetInParent()
        posted = await self._host.act(request.match_id, action)
        record, _ = await self._shown(posted, None)
        return pb.CloseSeatsResponse(record=record, head=self._host.head(posted.hosted, posted))

    async def AbortMatch(self, request: pb.AbortMatchRequest) -> pb.AbortMatchResponse:
        """Abort a match."""
        action = self._owner_action(request.match_id, request.owner_token, request.request_id)
        action.abort.SetInParent()
        posted = await self._host.act(request.match_id, action)
        record, _ = await self._shown(posted, None)
        return pb.AbortMatchResponse(record=record, head=self._host.head(posted.hosted, posted))

    async def SubmitTableCommand(self, request: pb.SubmitTableCommandRequest) -> pb.SubmitTableCommandResponse:
        """Give a command of the table."""
        action = self._owner_action(request.match_id, request.owner_token, request.request_id)
        check_command(request.command)
        action.command = request.command
        posted = await self._host.act(request.match_id, action)
        record, late = await self._shown(posted, None)
        head = self._host.head(posted.hosted, posted)
        return pb.SubmitTableCommandResponse(record=record, late_openings=late, head=head)

    async def PauseMatch(self, request: pb.PauseMatchRequest) -> pb.PauseMatchResponse:
        """Pause a match."""
        action = self._owner_action(request.match_id, request.owner_token, request.request_id)
        action.pause.SetInParent()
        posted = await self._host.act(request.match_id, action)
        record, _ = await self._shown(posted, None)
        return pb.PauseMatchResponse(record=record, head=self._host.head(posted.hosted, posted))

    async def ResumeMatch(self, request: pb.ResumeMatchRequest) -> pb.ResumeMatchResponse:
        """Resume a match."""
        action = self._owner_action(request.match_id, request.owner_token, request.request_id)
        action.resume.SetInParent()
        posted = await self._host.act(request.match_id, action)
        record, _ = await self._shown(posted, None)
        return pb.ResumeMatchResponse(record=record, head=self._host.head(posted.hosted, posted))

    async def SeatBot(self, request: pb.SeatBotRequest) -> pb.SeatBotResponse:
        """Fill a seat with a bot of the server."""
        match_id = check_match_id(request.match_id)
        self._tokens.check_owner(request.owner_token, match_id, self._host.clock())
        check_request_id(request.request_id, "request_id")
        posted = await self._seat_bot(match_id, request.seat, request.bot, request.request_id, request.display_name)
        record, _ = await self._shown(posted, None)
        return pb.SeatBotResponse(record=record, head=self._host.head(posted.hosted, posted))

    async def _seat_bot(self, match_id: bytes, seat: int, bot: str, request_id: bytes, name: str) -> Posted:
        hosted = await self._host.hosted(match_id)
        bot = check_bot(hosted.match.game.id, bot)
        cause = record_pb2.Cause(kind=_SEAT, seat=seat, request_id=request_id)
        join = engine_service_pb2.JoinAction(hosted=True)
        action = engine_service_pb2.Action(cause=cause, time_us=self._host.clock(), join=join)
        posted = await self._host.act(match_id, action, display_name=check_name(name) or None, bot=bot)
        if not posted.hosted.match.over:
            self.bots.add(match_id)
        return posted

    async def CreateInvitation(self, request: pb.CreateInvitationRequest) -> pb.CreateInvitationResponse:
        """Make an invitation."""
        match_id, now = check_match_id(request.match_id), self._host.clock()
        self._tokens.check_owner(request.owner_token, match_id, now)
        match = (await self._host.fresh(match_id)).match
        seat = request.seat if request.HasField("seat") else None
        if seat is not None and seat >= len(match.seats):
            raise malformed("seat", f"the match has {len(match.seats)} seats")
        if match.closed or match.over:
            raise wrong_phase("the seats are closed: nobody can join any more")
        await self._host.store.look_up_floor(match_id, INVITATIONS)
        invitation = self._tokens.invitation(match_id, seat, now, request.valid_s or self._tokens.lifetime_s)
        return pb.CreateInvitationResponse(invitation=invitation, expires_us=self._tokens.expiry_us(invitation))

    async def _owner(self) -> tuple[str, int]:
        """Who opens a match, and how many it may have open. Raises BAD_API_KEY or MISSING_SCOPE."""
        who = caller.current()
        if who.key or self._rules.needs_key:
            key = await self._keys.check(who.key, access_service_pb2.API_SCOPE_CREATE)
            return key.owner, key.open_matches or self._rules.open_matches
        return (self._tokens.tag(who.peer) if who.peer else ""), self._rules.open_matches

    async def _check_quota(self, owner: str, limit: int) -> None:
        """Raise QUOTA_EXCEEDED if the owner has as many matches open as it may have."""
        if owner and limit and await self._host.store.count_matches(owner, UNFINISHED) >= limit:
            raise quota_exceeded("open_matches", limit, retry_after_s=30)

    # -- rematches -------------------------------------------------------------------------------

    async def CreateRematch(self, request: pb.CreateRematchRequest) -> pb.CreateRematchResponse:
        """Open a match after a finished one, or find it."""
        match_id, now = check_match_id(request.match_id), self._host.clock()
        claims = self._tokens.claims(request.token, match_id, now)
        if claims.role is Role.INVITATION:
            raise foreign_seat("an invitation, not that of the owner or of a seat")
        hosted = await self._host.fresh(match_id)
        old = hosted.match
        if not (old.over and old.closed):
            raise wrong_phase("the match is not over, or was over before its seats were closed")
        limit = self._rules.open_matches
        posted = await self._host.create(
            rematch_request(hosted),
            owner=hosted.row.owner,
            rematch_of=match_id,
            admit=lambda: self._check_quota(hosted.row.owner, limit),
        )
        new = posted.hosted.match
        await self._seat_old_bots(hosted, new.match_id)
        reply = pb.CreateRematchResponse(
            match_id=new.match_id, record=_first_record(posted), head=self._host.head(posted.hosted, posted)
        )
        if claims.role is Role.OWNER:
            reply.owner_token = self._token(Role.OWNER, posted, OWNER_SEAT)
        else:
            reply.seat = _rotated(claims.seat, new.opened.seats)
        return reply

    async def _seat_old_bots(self, hosted: Hosted, match_id: bytes) -> None:
        """Let the bots of the match before take their seats in the rematch, if they have not yet."""
        old, store = hosted.match, self._host.store
        if not any(seat.hosted for seat in old.seats):
            return
        bots, names = await store.bots(old.match_id), await store.display_names(old.match_id)
        for number, bot in bots.items():
            seat = _rotated(number, len(old.seats))
            new = (await self._host.hosted(match_id)).match
            if new.closed or new.over or new.seats[seat].joined:
                continue
            request_id = sha256(b"sixledger/rematch-bot/1\n", match_id, u16(seat))[:16]
            await self._seat_bot(match_id, seat, bot, request_id, names.get(number, ""))

    # -- tokens ----------------------------------------------------------------------------------

    async def RefreshToken(self, request: pb.RefreshTokenRequest) -> pb.RefreshTokenResponse:
        """Make a fresh token from a valid one."""
        token = await self._fresh_token(request.token, check_match_id(request.match_id))
        return pb.RefreshTokenResponse(token=token, expires_us=self._tokens.expiry_us(token))

    async def RevokeTokens(self, request: pb.RevokeTokensRequest) -> pb.RevokeTokensResponse:
        """Make tokens worthless."""
        match_id, now = check_match_id(request.match_id), self._host.clock()
        claims = await self._claims(request.token, match_id, now)
        target = request.WhichOneof("target")
        if target is None:
            raise malformed("target", "is missing")
        if claims.role is Role.INVITATION:
            raise foreign_seat("an invitation, not that of the owner or of a seat")
        store = self._host.store
        if target == "own":
            await store.raise_floor(match_id, claims.seat, await self._host.next_floor(match_id, claims.seat, now))
            token = self._made(claims.role, match_id, claims.seat, now)
            audit("tokens_revoked", by=_name(claims), match=match_id.hex(), of=_name(claims))
            self._host.hub.hint(match_id)  # whoever follows with an old token is to be turned away
            return pb.RevokeTokensResponse(token=token, expires_us=self._tokens.expiry_us(token))
        self._tokens.check_owner(request.token, match_id, now)
        if target == "invitations":
            await store.raise_floor(match_id, INVITATIONS, await self._host.next_floor(match_id, INVITATIONS, now))
            audit("tokens_revoked", by="owner", match=match_id.hex(), of="invitations")
            return pb.RevokeTokensResponse()
        seats = (await self._host.fresh(match_id)).match.seats
        if request.seat >= len(seats) or not seats[request.seat].joined:
            raise wrong_phase(f"seat {request.seat} is not taken")
        await store.raise_floor(match_id, request.seat, TokenFloor(LOCKED, 2**63 - 1))
        audit("tokens_revoked", by="owner", match=match_id.hex(), of=f"seat:{request.seat}")
        self._host.hub.hint(match_id)
        return pb.RevokeTokensResponse()

    async def _claims(self, token: str, match_id: bytes, now: int) -> Claims:
        """What a token says that is about to be replaced: one that was just revoked elsewhere must not live on."""
        claims = self._tokens.claims(token, match_id, now)
        await self._host.store.look_up_floor(match_id, claims.floor_seat)
        return self._tokens.claims(token, match_id, now)

    async def _fresh_token(self, token: str, match_id: bytes) -> str:
        now = self._host.clock()
        claims = await self._claims(token, match_id, now)
        if claims.role is Role.INVITATION:
            raise foreign_seat("an invitation: join with it, or ask its maker for another one")
        return self._made(claims.role, match_id, claims.seat, now)

    def _made(self, role: Role, match_id: bytes, seat: int, time_us: int) -> str:
        return self._tokens.again(role, match_id, seat, time_us, time_us)

    def _token(self, role: Role, posted: Posted, seat: int) -> str:
        """The token that goes with a record: of the join or of the opening."""
        return self._tokens.again(role, posted.hosted.match.match_id, seat, posted.time_us, self._host.clock())

    # -- common parts ----------------------------------------------------------------------------

    def _action(self, act: pb.Act) -> tuple[int, engine_service_pb2.Action]:
        """The seat of an act, by its token, and the action without what is done."""
        match_id = check_match_id(act.match_id, "act.match_id")
        now = self._host.clock()
        seat = self._tokens.check_seat(act.token, match_id, now)
        return seat, self._seat_action(act, seat, now)

    def _seat_action(self, act: pb.Act, seat: int, now: int) -> engine_service_pb2.Action:
        check_request_id(act.request_id, "act.request_id")
        check_signing(act.observed_head, act.signature, "act.")
        action = engine_service_pb2.Action(time_us=now)
        cause = action.cause
        cause.kind, cause.seat, cause.request_id = _SEAT, seat, act.request_id
        if act.signature or act.observed_head:
            cause.observed_head, cause.signature = act.observed_head, act.signature
        return action

    def _owner_action(self, match_id: bytes, owner_token: str, request_id: bytes) -> engine_service_pb2.Action:
        """The action of the owner, without what is done."""
        now = self._host.clock()
        self._tokens.check_owner(owner_token, check_match_id(match_id), now)
        check_request_id(request_id, "request_id")
        return engine_service_pb2.Action(cause=record_pb2.Cause(kind=_TABLE, request_id=request_id), time_us=now)

    async def _shown(
        self, posted: Posted, viewer: int | None
    ) -> tuple[record_pb2.Record, list[record_pb2.LateOpenings]]:
        record, late = await record_for(self._host, posted.hosted, posted.seq, posted.record, viewer)
        return record_pb2.Record.FromString(record), [record_pb2.LateOpenings.FromString(each) for each in late]


def _first_record(posted: Posted) -> record_pb2.Record:
    """Record 0 as everybody may have it."""
    return record_pb2.Record.FromString(posted.record.shown(None, 0))


def _name(claims: Claims) -> str:
    """Who shows a token, for the audit log."""
    return "owner" if claims.role is Role.OWNER else f"seat:{claims.seat}"


def _rotated(seat: int, seats: int) -> int:
    """Where whoever had `seat` sits in the rematch: one seat on, so that somebody else begins."""
    return (seat + seats - 1) % seats


def rematch_request(hosted: Hosted) -> pb.CreateMatchRequest:
    """The request that opens the rematch of a match: the same whenever, and by whomever, it is made."""
    match, row = hosted.match, hosted.row
    secret = hmac.digest(row.root_secret, b"sixledger/rematch/1\n" + match.match_id, "sha256")
    seats = len(match.seats)
    return pb.CreateMatchRequest(
        game=match.game.id,
        options=match.opened.options,
        seats=seats,
        mode=match.opened.mode,
        secret=secret,
        ready_seats=min(match.opened.ready_seats, seats),
        private=True,
        no_spectators=row.no_spectators,
        clock=match.opened.clock if match.opened.HasField("clock") else None,
        timeout_policy=match.opened.timeout_policy,
    )
