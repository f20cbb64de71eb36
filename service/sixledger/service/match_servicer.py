"""MatchService: hosted matches. Takes and gives messages, raises ServiceError; knows no transport."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator

from sixledger.ledger.records import redact
from sixledger.service.errors import malformed
from sixledger.service.export import export
from sixledger.service.host import MatchHost, Posted
from sixledger.service.idempotency import join_request_id
from sixledger.service.paging import page_token, read_page_token
from sixledger.service.redaction import record_for
from sixledger.service.store import Cursor
from sixledger.service.tokens import TokenMint
from sixledger.service.watch import WatchTiming, watch
from sixledger.v1 import engine_service_pb2, record_pb2
from sixledger.v1 import match_service_pb2 as pb

_SEAT, _TABLE = record_pb2.CAUSE_KIND_SEAT, record_pb2.CAUSE_KIND_TABLE
#: Longest command, in bytes: no game has longer ones, and each is kept for ever.
MAX_COMMAND_BYTES = 16_384
#: A page of records ends when it has this many bytes.
MAX_PAGE_BYTES = 2_000_000


class MatchServicer:
    """The calls of MatchService, by their names."""

    def __init__(self, host: MatchHost, tokens: TokenMint, timing: WatchTiming | None = None) -> None:
        """Serve the matches of `host` to the holders of `tokens`."""
        self._host = host
        self._tokens = tokens
        self._timing = timing or WatchTiming()

    # -- opening and joining ---------------------------------------------------------------------

    async def CreateMatch(self, request: pb.CreateMatchRequest) -> pb.CreateMatchResponse:  # noqa: N802 - RPC names
        """Open a match."""
        posted = await self._host.create(request)
        return pb.CreateMatchResponse(
            match_id=posted.hosted.match.match_id,
            owner_token=self._tokens.owner(posted.hosted.match.match_id, posted.time_us),
            record=redact(posted.record, None, 0),
            head=self._host.head(posted.hosted, posted),
        )

    async def JoinMatch(self, request: pb.JoinMatchRequest) -> pb.JoinMatchResponse:  # noqa: N802
        """Take a seat."""
        match_id = _check_match_id(request.match_id)
        if request.secret and len(request.secret) != 32:
            raise malformed("secret", "must be 32 bytes, or absent")
        if request.signature and not request.secret:
            raise malformed("secret", "is needed to sign: the request id follows from it")
        _check_signing(request.observed_head, request.signature, "")
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
        name = _check_name(request.display_name)
        posted = await self._host.act(match_id, action, display_name=name or None)
        record, _ = await self._shown(posted, request.seat)
        token = self._tokens.seat(match_id, request.seat, posted.time_us)
        return pb.JoinMatchResponse(token=token, record=record, head=self._host.head(posted.hosted, posted))

    # -- acting ----------------------------------------------------------------------------------

    async def CommitContribution(self, request: pb.CommitContributionRequest) -> pb.CommitContributionResponse:  # noqa: N802
        """Commit to a contribution."""
        seat, action = self._action(request.act)
        action.commitment = request.commitment
        posted = await self._host.act(request.act.match_id, action)
        record, _ = await self._shown(posted, seat)
        return pb.CommitContributionResponse(record=record, head=self._host.head(posted.hosted, posted))

    async def RevealContribution(self, request: pb.RevealContributionRequest) -> pb.RevealContributionResponse:  # noqa: N802
        """Give the contribution."""
        seat, action = self._action(request.act)
        action.contribution = request.contribution
        posted = await self._host.act(request.act.match_id, action)
        record, _ = await self._shown(posted, seat)
        return pb.RevealContributionResponse(record=record, head=self._host.head(posted.hosted, posted))

    async def SubmitCommand(self, request: pb.SubmitCommandRequest) -> pb.SubmitCommandResponse:  # noqa: N802
        """Play a command."""
        seat, action = self._action(request.act)
        _check_command(request.command)
        action.cause.decision = request.decision
        action.command = request.command
        posted = await self._host.act(request.act.match_id, action)
        record, late = await self._shown(posted, seat)
        return pb.SubmitCommandResponse(record=record, late_openings=late, head=self._host.head(posted.hosted, posted))

    async def ResignMatch(self, request: pb.ResignMatchRequest) -> pb.ResignMatchResponse:  # noqa: N802
        """Resign."""
        seat, action = self._action(request.act)
        action.resign.SetInParent()
        posted = await self._host.act(request.act.match_id, action)
        record, late = await self._shown(posted, seat)
        return pb.ResignMatchResponse(record=record, late_openings=late, head=self._host.head(posted.hosted, posted))

    async def AbortMatch(self, request: pb.AbortMatchRequest) -> pb.AbortMatchResponse:  # noqa: N802
        """Abort a match."""
        match_id = _check_match_id(request.match_id)
        self._tokens.check_owner(request.owner_token, match_id, self._host.clock())
        _check_request_id(request.request_id, "request_id")
        cause = record_pb2.Cause(kind=_TABLE, request_id=request.request_id)
        action = engine_service_pb2.Action(
            cause=cause, time_us=self._host.clock(), abort=engine_service_pb2.AbortAction()
        )
        posted = await self._host.act(match_id, action)
        record, _ = await self._shown(posted, None)
        return pb.AbortMatchResponse(record=record, head=self._host.head(posted.hosted, posted))

    async def SubmitTableCommand(self, request: pb.SubmitTableCommandRequest) -> pb.SubmitTableCommandResponse:  # noqa: N802
        """Give a command of the table."""
        match_id = _check_match_id(request.match_id)
        now = self._host.clock()
        self._tokens.check_owner(request.owner_token, match_id, now)
        _check_request_id(request.request_id, "request_id")
        _check_command(request.command)
        cause = record_pb2.Cause(kind=_TABLE, request_id=request.request_id)
        action = engine_service_pb2.Action(cause=cause, time_us=now, command=request.command)
        posted = await self._host.act(match_id, action)
        record, late = await self._shown(posted, None)
        head = self._host.head(posted.hosted, posted)
        return pb.SubmitTableCommandResponse(record=record, late_openings=late, head=head)

    # -- reading ---------------------------------------------------------------------------------

    async def GetMatch(self, request: pb.GetMatchRequest) -> pb.GetMatchResponse:  # noqa: N802
        """Tell what stands in public about a match."""
        hosted = await self._host.fresh(_check_match_id(request.match_id))
        names = await self._host.store.display_names(request.match_id)
        match = hosted.match
        info = pb.MatchInfo(
            match_id=match.match_id,
            status=match.status,
            opened=match.opened,
            created_us=hosted.row.created_us,
            record_count=match.seq + 1,
            decision=match.decision,
            to_act=match.to_act,
            first_hash=match.first_hash,
        )
        for number, seat in enumerate(match.seats):
            info.seats.add(
                joined=seat.joined,
                public_key=seat.public_key,
                contributes=seat.contributes,
                display_name=names.get(number, ""),
            )
        return pb.GetMatchResponse(match=info, head=self._host.head(hosted))

    async def ListMatches(self, request: pb.ListMatchesRequest) -> pb.ListMatchesResponse:  # noqa: N802
        """List matches, newest first."""
        size = _check_page_size(request.page_size, 100) or 50
        if request.status not in pb.MatchStatus.values():
            raise malformed("status", "is not a status of this release")
        if len(request.game) > 100 or "\0" in request.game:
            raise malformed("game", "is not the id of a game")
        after = read_page_token(request.page_token, request.status, request.game)
        rows = await self._host.store.list_matches(
            status=request.status or None, game=request.game or None, after=after, limit=size + 1
        )
        reply = pb.ListMatchesResponse()
        for row in rows[:size]:
            reply.matches.add(
                match_id=row.match_id,
                game=row.game,
                status=pb.MatchStatus.ValueType(row.status),
                seats=row.seats,
                joined=row.joined,
                created_us=row.created_us,
            )
        if len(rows) > size:
            last = rows[size - 1]
            cursor = Cursor(last.created_us, last.match_id)
            reply.next_page_token = page_token(cursor, request.status, request.game)
        return reply

    async def GetView(self, request: pb.GetViewRequest) -> pb.GetViewResponse:  # noqa: N802
        """Show what a seat or a spectator sees."""
        viewer = self._viewer(request.match_id, request.token)
        hosted = await self._host.fresh(request.match_id)
        match = hosted.match
        reply = pb.GetViewResponse(head=self._host.head(hosted))
        if match.state is not None:
            reply.view.CopyFrom(match.game.schema.view.pack(match.game.view(match.state, viewer)))
        return reply

    async def ListLegalCommands(self, request: pb.ListLegalCommandsRequest) -> pb.ListLegalCommandsResponse:  # noqa: N802
        """List the legal commands of a seat."""
        match_id = _check_match_id(request.match_id)
        seat = self._tokens.check_seat(request.token, match_id, self._host.clock())
        match = (await self._host.fresh(match_id)).match
        reply = pb.ListLegalCommandsResponse(decision=match.decision)
        if match.state is not None and not match.over:
            for command in match.game.legal(match.state, seat):
                match.game.schema.commands.pack_into(reply.commands.add(), command)
        return reply

    async def ListRecords(self, request: pb.ListRecordsRequest) -> pb.ListRecordsResponse:  # noqa: N802
        """Read records, with every opening that the reader may have now."""
        viewer = self._viewer(request.match_id, request.token)
        size = _check_page_size(request.page_size, 1000) or 200
        hosted = await self._host.fresh(request.match_id)
        match = hosted.match
        end = min(request.first_seq + size, match.seq + 1)
        reply = pb.ListRecordsResponse(next_seq=request.first_seq)
        if request.first_seq < end:
            room = MAX_PAGE_BYTES
            for record in await self._host.records(hosted, request.first_seq, end):
                room -= record.ByteSize()
                if room < 0 and reply.next_seq > request.first_seq:
                    break
                reply.records.append(redact(record, viewer, match.revealed))
                reply.next_seq += 1
        if reply.next_seq == match.seq + 1 and hosted.match is match:
            reply.head = self._host.head(hosted)
        return reply

    async def WatchMatch(self, request: pb.WatchMatchRequest) -> AsyncIterator[pb.WatchMatchResponse]:  # noqa: N802
        """Follow a match."""
        viewer = self._viewer(request.match_id, request.token)
        if request.snapshot and request.first_seq:
            raise malformed("first_seq", "must be 0 with snapshot: the snapshot says where it starts")
        items = watch(
            self._host, request.match_id, viewer, request.first_seq, snapshot=request.snapshot, timing=self._timing
        )
        async for item in items:
            yield item

    async def ExportLedger(self, request: pb.ExportLedgerRequest) -> AsyncIterator[pb.ExportLedgerResponse]:  # noqa: N802
        """Export the ledger as a file."""
        viewer = self._viewer(request.match_id, request.token)
        hosted = await self._host.fresh(request.match_id)
        async for chunk in export(self._host, hosted, viewer):
            yield pb.ExportLedgerResponse(chunk=chunk)

    # -- common parts ----------------------------------------------------------------------------

    def _action(self, act: pb.Act) -> tuple[int, engine_service_pb2.Action]:
        """The seat of an act, by its token, and the action without what is done."""
        match_id = _check_match_id(act.match_id, "act.match_id")
        now = self._host.clock()
        seat = self._tokens.check_seat(act.token, match_id, now)
        _check_request_id(act.request_id, "act.request_id")
        _check_signing(act.observed_head, act.signature, "act.")
        cause = record_pb2.Cause(
            kind=_SEAT,
            seat=seat,
            request_id=act.request_id,
            observed_head=act.observed_head,
            signature=act.signature,
        )
        return seat, engine_service_pb2.Action(cause=cause, time_us=now)

    def _viewer(self, match_id: bytes, token: str) -> int | None:
        return self._tokens.check_viewer(token, _check_match_id(match_id), self._host.clock())

    async def _shown(
        self, posted: Posted, viewer: int | None
    ) -> tuple[record_pb2.Record, list[record_pb2.LateOpenings]]:
        return await record_for(self._host, posted.hosted, posted.seq, posted.record, viewer)


def _check_match_id(match_id: bytes, field: str = "match_id") -> bytes:
    if len(match_id) != 16:
        raise malformed(field, "must be 16 bytes")
    return match_id


def _check_request_id(request_id: bytes, field: str) -> None:
    if len(request_id) != 16:
        raise malformed(field, "must be 16 bytes")


def _check_command(command: bytes) -> None:
    if len(command) > MAX_COMMAND_BYTES:
        raise malformed("command", f"has more than {MAX_COMMAND_BYTES} bytes")


def _check_signing(observed_head: bytes, signature: bytes, prefix: str) -> None:
    if len(observed_head) not in {0, 32}:
        raise malformed(f"{prefix}observed_head", "must be 32 bytes, or absent")
    if len(signature) not in {0, 64}:
        raise malformed(f"{prefix}signature", "must be 64 bytes, or absent")


def _check_name(name: str) -> str:
    if len(name) > 64:
        raise malformed("display_name", "has more than 64 characters")
    if not name.isprintable():
        raise malformed("display_name", "has characters that cannot be shown")
    return name


def _check_page_size(size: int, most: int) -> int:
    if size > most:
        raise malformed("page_size", f"must be 1 to {most}, or 0 for the default")
    return size
