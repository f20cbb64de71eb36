"""MatchService: hosted matches. Takes and gives messages, raises ServiceError; knows no transport."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from sixledger.ledger import wire
from sixledger.ledger.clocks import reading
from sixledger.ledger.fairness import fairness, promised
from sixledger.service import caller
from sixledger.service.admission import Admission
from sixledger.service.api_keys import ApiKeys
from sixledger.service.bots import BotRunner
from sixledger.service.errors import malformed
from sixledger.service.export import export
from sixledger.service.failures import CallLog, failure, report
from sixledger.service.fields import check_command, check_match_id, check_page_size
from sixledger.service.host import MatchHost
from sixledger.service.hosted import Hosted
from sixledger.service.idempotency import created_match_id
from sixledger.service.lobby import Lobby, OwnerRules, rematch_request
from sixledger.service.matches import Posted
from sixledger.service.paging import page_token, read_page_token
from sixledger.service.play import PlayLimits, PlayStream
from sixledger.service.redaction import record_for
from sixledger.service.restored import is_restored
from sixledger.service.store import Cursor
from sixledger.service.tokens import TokenMint
from sixledger.service.watch import Pulse, WatchTiming, watch
from sixledger.v1 import access_service_pb2
from sixledger.v1 import match_service_pb2 as pb

#: Commands of one batch.
MAX_COMMANDS = 100
_SUBMIT_COMMANDS = "/sixledger.v1.MatchService/SubmitCommands"
#: A page of records ends when it has this many bytes.
MAX_PAGE_BYTES = 2_000_000

#: Of a SubmitCommandResponse: the keys of fields that are always there, and the number of one that is not.
_RECORD = wire.key(pb.SubmitCommandResponse.RECORD_FIELD_NUMBER)
_HEAD = wire.key(pb.SubmitCommandResponse.HEAD_FIELD_NUMBER)
_LATE = pb.SubmitCommandResponse.LATE_OPENINGS_FIELD_NUMBER


class MatchServicer(Lobby):
    """The calls of MatchService, by their names."""

    def __init__(
        self,
        host: MatchHost,
        tokens: TokenMint,
        timing: WatchTiming | None = None,
        limits: PlayLimits | None = None,
        *,
        keys: ApiKeys | None = None,
        rules: OwnerRules | None = None,
        admission: Admission | None = None,
        max_watchers: int = 10_000,
    ) -> None:
        """Serve the matches of `host` to the holders of `tokens`, and with `rules` to owners with `keys`.

        `admission` counts what streams and batches do; `max_watchers` may follow one match.
        """
        self._pulse = Pulse(host, timing or WatchTiming(), max_watchers)
        super().__init__(host, tokens, BotRunner(host, self._pulse), keys, rules)
        self._limits = limits or PlayLimits()
        self._admission = admission
        self._log = CallLog("play", host.metrics)

    # -- acting ----------------------------------------------------------------------------------

    async def CommitContribution(self, request: pb.CommitContributionRequest) -> pb.CommitContributionResponse:
        """Commit to a contribution."""
        seat, action = self._action(request.act)
        action.commitment = request.commitment
        posted = await self._host.act(request.act.match_id, action)
        record, _ = await self._shown(posted, seat)
        return pb.CommitContributionResponse(record=record, head=self._host.head(posted.hosted, posted))

    async def RevealContribution(self, request: pb.RevealContributionRequest) -> pb.RevealContributionResponse:
        """Give the contribution."""
        seat, action = self._action(request.act)
        action.contribution = request.contribution
        posted = await self._host.act(request.act.match_id, action)
        record, _ = await self._shown(posted, seat)
        return pb.RevealContributionResponse(record=record, head=self._host.head(posted.hosted, posted))

    async def SubmitCommandEncoded(self, request: pb.SubmitCommandRequest) -> bytes:
        """Play a command: a serialised SubmitCommandResponse."""
        seat, posted = await self._submit(request)
        record, late = await record_for(self._host, posted.hosted, posted.seq, posted.record, seat)
        head = self._host.head(posted.hosted, posted).encode()
        # Put together from bytes: by far the most frequent call, and the record is serialised already.
        parts = [_RECORD, wire.varint(len(record)), record]
        if late:
            parts.append(wire.repeated(_LATE, late))
        parts += (_HEAD, wire.varint(len(head)), head)
        return b"".join(parts)

    async def SubmitCommand(self, request: pb.SubmitCommandRequest) -> pb.SubmitCommandResponse:
        """Play a command."""
        return pb.SubmitCommandResponse.FromString(await self.SubmitCommandEncoded(request))

    async def SubmitCommands(self, request: pb.SubmitCommandsRequest) -> pb.SubmitCommandsResponse:
        """Play several commands of any matches."""
        if not 1 <= len(request.commands) <= MAX_COMMANDS:
            raise malformed("commands", f"must be 1 to {MAX_COMMANDS}")
        if self._admission is not None:
            self._admission.charge(len(request.commands) - 1)
        results = [pb.SubmitCommandResult() for _ in request.commands]
        lines: dict[bytes, list[tuple[pb.SubmitCommandRequest, pb.SubmitCommandResult]]] = {}
        for command, result in zip(request.commands, results, strict=True):
            lines.setdefault(command.act.match_id, []).append((command, result))
        async with asyncio.TaskGroup() as group:
            for line in lines.values():
                group.create_task(self._submit_line(line))
        return pb.SubmitCommandsResponse(results=results)

    async def _submit_line(self, line: list[tuple[pb.SubmitCommandRequest, pb.SubmitCommandResult]]) -> None:
        """Play the commands of one match, one after the other."""
        for command, result in line:
            started = time.perf_counter()
            try:
                result.reply.ParseFromString(await self.SubmitCommandEncoded(command))
            except Exception as error:
                result.failure.CopyFrom(failure(report(self._log, _SUBMIT_COMMANDS, error, started)))

    def PlayEncoded(self, requests: AsyncIterator[pb.PlayRequest]) -> AsyncGenerator[bytes, None]:
        """Play and follow matches over one stream: serialised PlayResponses."""
        submit = self._host.traced("sixledger.v1.MatchService/Play command", self._submit_counted)
        return PlayStream(self._pulse, submit, self._viewer, self._limits, self._log).run(requests)

    async def Play(self, requests: AsyncIterator[pb.PlayRequest]) -> AsyncGenerator[pb.PlayResponse, None]:
        """Play and follow matches over one stream."""
        async with aclosing(self.PlayEncoded(requests)) as responses:
            async for response in responses:
                yield pb.PlayResponse.FromString(response)

    async def ResignMatch(self, request: pb.ResignMatchRequest) -> pb.ResignMatchResponse:
        """Resign."""
        seat, action = self._action(request.act)
        action.resign.SetInParent()
        posted = await self._host.act(request.act.match_id, action)
        record, late = await self._shown(posted, seat)
        return pb.ResignMatchResponse(record=record, late_openings=late, head=self._host.head(posted.hosted, posted))

    # -- reading ---------------------------------------------------------------------------------

    async def GetMatch(self, request: pb.GetMatchRequest) -> pb.GetMatchResponse:
        """Tell what stands in public about a match."""
        hosted = await self._host.fresh(check_match_id(request.match_id))
        names = await self._host.store.display_names(request.match_id)
        match, row = hosted.match, hosted.row
        bots = await self._host.store.bots(request.match_id) if any(seat.hosted for seat in match.seats) else {}
        info = pb.MatchInfo(
            match_id=match.match_id,
            status=match.status,
            opened=match.opened,
            created_us=hosted.row.created_us,
            record_count=match.seq + 1,
            decision=match.decision,
            to_act=match.to_act,
            first_hash=match.first_hash,
            private=row.private,
            no_spectators=row.no_spectators,
            rematch_of=row.rematch_of,
            rematch=await self._rematch(hosted),
            clock=reading(match, self._host.clock()),
            fairness=str(fairness(match)),
            restored=is_restored(self._host.store, match.match_id),
        )
        for number, seat in enumerate(match.seats):
            info.seats.add(
                joined=seat.joined,
                public_key=seat.public_key,
                contributes=seat.contributes,
                display_name=names.get(number, ""),
                ready=seat.ready,
                hosted=seat.hosted,
                bot=bots.get(number, ""),
            )
        return pb.GetMatchResponse(match=info, head=self._host.head(hosted))

    async def _rematch(self, hosted: Hosted) -> bytes:
        """The rematch of a match, if there is one."""
        if not (hosted.match.over and hosted.match.closed):
            return b""
        match_id = created_match_id(rematch_request(hosted).secret)
        return match_id if await self._host.store.match(match_id) is not None else b""

    async def ListMatches(self, request: pb.ListMatchesRequest) -> pb.ListMatchesResponse:
        """List matches, newest first."""
        size = check_page_size(request.page_size, 100) or 50
        if request.status not in pb.MatchStatus.values():
            raise malformed("status", "is not a status of this release")
        if len(request.game) > 100 or "\0" in request.game:
            raise malformed("game", "is not the id of a game")
        if request.free_seats and request.status not in (pb.MATCH_STATUS_UNSPECIFIED, pb.MATCH_STATUS_OPEN):
            raise malformed("free_seats", "does not go with this status: only open matches have free seats")
        status = pb.MATCH_STATUS_OPEN if request.free_seats else request.status
        owner = None
        if request.mine:
            owner = (await self._keys.check(caller.current().key, access_service_pb2.API_SCOPE_LIST)).owner
        more = f"{request.free_seats}/{owner or ''}"
        after = read_page_token(request.page_token, status, request.game, more)
        rows = await self._host.store.list_matches(
            status=status or None,
            game=request.game or None,
            after=after,
            limit=size + 1,
            free_seats=request.free_seats,
            owner=owner,
        )
        reply = pb.ListMatchesResponse()
        # Nobody can take a seat of a restored match.
        shown = [row for row in rows[:size] if not (request.free_seats and is_restored(self._host.store, row.match_id))]
        openings = await asyncio.gather(*(self._host.opening(row.match_id) for row in shown))  # not one after the other
        for row, opened in zip(shown, openings, strict=True):
            reply.matches.add(
                match_id=row.match_id,
                game=row.game,
                status=pb.MatchStatus.ValueType(row.status),
                seats=row.seats,
                joined=row.joined,
                created_us=row.created_us,
                private=row.private,
                no_spectators=row.no_spectators,
                mode=opened.mode,
                fairness=promised(opened).label if opened.mode else "",
            )
        if len(rows) > size:
            last = rows[size - 1]
            cursor = Cursor(last.created_us, last.match_id)
            reply.next_page_token = page_token(cursor, status, request.game, more)
        return reply

    async def GetView(self, request: pb.GetViewRequest) -> pb.GetViewResponse:
        """Show what a seat or a spectator sees."""
        hosted, viewer = await self._sight(request.match_id, request.token)
        match = hosted.match
        reply = pb.GetViewResponse(head=self._host.head(hosted), clock=reading(match, self._host.clock()))
        if match.state is not None:
            reply.view.CopyFrom(match.game.schema.view.pack(match.game.view(match.state, viewer)))
        return reply

    async def ListLegalCommands(self, request: pb.ListLegalCommandsRequest) -> pb.ListLegalCommandsResponse:
        """List the legal commands of a seat."""
        match_id = check_match_id(request.match_id)
        self._tokens.check_seat(request.token, match_id, self._host.clock())
        match = (await self._host.fresh(match_id)).match
        seat = self._tokens.check_seat(request.token, match_id, self._host.clock())
        reply = pb.ListLegalCommandsResponse(decision=match.decision)
        if match.state is not None and not match.over:
            for command in match.game.legal(match.state, seat):
                match.game.schema.commands.pack_into(reply.commands.add(), command)
        return reply

    async def ListRecords(self, request: pb.ListRecordsRequest) -> pb.ListRecordsResponse:
        """Read records, with every opening that the reader may have now."""
        size = check_page_size(request.page_size, 1000) or 200
        if (request.first_seq, request.page_size, request.token) == (0, 1, ""):
            # Record 0 is for everybody: whoever joins must know the rules.
            hosted, viewer = await self._host.fresh(check_match_id(request.match_id)), None
        else:
            hosted, viewer = await self._sight(request.match_id, request.token)
        match = hosted.match
        end = min(request.first_seq + size, match.seq + 1)
        reply = pb.ListRecordsResponse(next_seq=request.first_seq)
        if request.first_seq < end:
            room = MAX_PAGE_BYTES
            for record in await self._host.records(hosted, request.first_seq, end):
                room -= len(record.data)
                if room < 0 and reply.next_seq > request.first_seq:
                    break
                reply.records.add().ParseFromString(record.shown(viewer, match.revealed))
                reply.next_seq += 1
        if reply.next_seq == match.seq + 1 and hosted.match is match:
            reply.head = self._host.head(hosted)
        return reply

    def WatchMatchEncoded(self, request: pb.WatchMatchRequest) -> AsyncGenerator[bytes, None]:
        """Follow a match: serialised WatchMatchResponses."""
        viewer = self._viewer(request.match_id, request.token)
        if request.snapshot and request.first_seq:
            raise malformed("first_seq", "must be 0 with snapshot: the snapshot says where it starts")
        return watch(self._pulse, request.match_id, viewer, request.first_seq, snapshot=request.snapshot)

    async def WatchMatch(self, request: pb.WatchMatchRequest) -> AsyncGenerator[pb.WatchMatchResponse, None]:
        """Follow a match."""
        async with aclosing(self.WatchMatchEncoded(request)) as items:
            async for item in items:
                yield pb.WatchMatchResponse.FromString(item)

    async def ExportLedger(self, request: pb.ExportLedgerRequest) -> AsyncGenerator[pb.ExportLedgerResponse, None]:
        """Export the ledger as a file."""
        hosted, viewer = await self._sight(request.match_id, request.token)
        async for chunk in export(self._host, hosted, viewer):
            yield pb.ExportLedgerResponse(chunk=chunk)

    # -- common parts ----------------------------------------------------------------------------

    async def _submit_counted(self, request: pb.SubmitCommandRequest) -> tuple[int, Posted]:
        """Play a command of a stream: it counts as a call of its own."""
        if self._admission is not None:
            self._admission.charge(1)
        return await self._submit(request)

    async def _submit(self, request: pb.SubmitCommandRequest) -> tuple[int, Posted]:
        """Play a command: the seat, and its record."""
        act, command = request.act, request.command
        seat, action = self._action(act)
        check_command(command)
        action.cause.decision = request.decision
        action.command = command
        return seat, await self._host.act(act.match_id, action)

    def _viewer(self, match_id: bytes, token: str) -> int | None:
        return self._tokens.check_viewer(token, check_match_id(match_id), self._host.clock())

    async def _sight(self, match_id: bytes, token: str) -> tuple[Hosted, int | None]:
        """The match as it stands, and whose view of it `token` opens. Raises NO_SPECTATORS."""
        self._viewer(match_id, token)
        hosted = await self._host.fresh(match_id)
        viewer = self._viewer(match_id, token)  # again: the seat may have been given up meanwhile
        hosted.check_viewer(viewer)
        return hosted, viewer
