"""A match played without any service, as an honest service would show it: what the client is tested against."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from google.protobuf.message import Message
from sixledger.client import errors
from sixledger.client.core import acts
from sixledger.client.core.flow import Locked, Open, Read, Sleep
from sixledger.client.core.tracker import Tracker
from sixledger.client.credentials import Credentials
from sixledger.engine.nimmt import GAME
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.ledger import faults, hashing, records
from sixledger.ledger.author import Author
from sixledger.ledger.heads import HeadSigner
from sixledger.ledger.keys import ActKind
from sixledger.service.config import Settings
from sixledger.service.server import Server
from sixledger.v1 import catalog_service_pb2, engine_service_pb2, match_service_pb2, record_pb2
from support.openings import late_openings

T = TypeVar("T")

MATCH_ID = bytes(range(16))
START_US = 1_700_000_000_000_000
SIGNERS_KEY, IMPOSTORS_KEY = (Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32) for n in (1, 2))
SIGNER = HeadSigner("play.test", SIGNERS_KEY)
#: Signs for the same origin with another key.
IMPOSTOR = HeadSigner("play.test", IMPOSTORS_KEY)
ONE_ROUND = nimmt_pb2.Options(end_mode=nimmt_pb2.END_MODE_ROUNDS, rounds=1)
TWO_ROUNDS = nimmt_pb2.Options(end_mode=nimmt_pb2.END_MODE_ROUNDS, rounds=2)
COMMIT_REVEAL = record_pb2.CONTRIBUTION_MODE_COMMIT_REVEAL


def credentials(seat: int, *, sign: bool = True, contribute: bool = True) -> Credentials:
    """The same secrets for a seat in every run."""
    made = Credentials(MATCH_ID, seat, hashing.sha256(b"secret", bytes((seat,))), token=f"token-{seat}")
    if sign:
        made.private_key = hashing.sha256(b"key", bytes((seat,)))
    if contribute:
        made.contribution = hashing.sha256(b"contribution", bytes((seat,)))
    return made


class HonestTable:
    """Writes the ledger of one match, and shows it to viewers as the service does."""

    def __init__(
        self,
        seats: int = 2,
        options: nimmt_pb2.Options = ONE_ROUND,
        *,
        sign: bool = True,
        contribute: bool = True,
        mode: record_pb2.ContributionMode.ValueType = COMMIT_REVEAL,
        root_secret: bytes = b"\x07" * 32,
    ) -> None:
        """Open the match; nobody has joined."""
        self.players = [credentials(seat, sign=sign, contribute=contribute) for seat in range(seats)]
        self.author, self.match, first = Author.open(
            GAME,
            seats,
            options,
            root_secret=root_secret,
            match_id=MATCH_ID,
            request_id=hashing.sha256(b"create")[:16],
            time_us=START_US,
            mode=mode,
        )
        self.records = [first]
        self.revealed = [0]
        self.clock = START_US

    # -- playing -----------------------------------------------------------------------------------

    def act(
        self, seat: int, kind: ActKind, payload: bytes, request_id: bytes = b"", **action: Any
    ) -> record_pb2.Record:
        """Let a seat act, signed if it signs; `action` is the case of Action."""
        player = self.players[seat]
        self.clock += 1_000_000
        decision = self.match.decision if kind is ActKind.COMMAND else 0
        request_id = request_id or hashing.sha256(b"request", len(self.records).to_bytes(4, "big"))[:16]
        observed = self.match.first_hash if kind is ActKind.JOIN else self.match.hash
        signature = player.sign(kind, decision, observed, request_id, payload)
        cause = record_pb2.Cause(
            kind=record_pb2.CAUSE_KIND_SEAT,
            seat=seat,
            request_id=request_id,
            decision=decision,
            observed_head=observed if signature else b"",
            signature=signature,
        )
        return self._append(engine_service_pb2.Action(cause=cause, time_us=self.clock, **action))

    def abort(self) -> record_pb2.Record:
        """Let the owner abort."""
        cause = record_pb2.Cause(kind=record_pb2.CAUSE_KIND_TABLE, request_id=b"a" * 16)
        self.clock += 1_000_000
        abort = engine_service_pb2.AbortAction()
        return self._append(engine_service_pb2.Action(cause=cause, time_us=self.clock, abort=abort))

    def _append(self, action: engine_service_pb2.Action) -> record_pb2.Record:
        self.match, record = self.author.act(self.match, action)
        self.records.append(record)
        self.revealed.append(self.match.revealed)
        return record

    def join(self) -> HonestTable:
        """Let every seat join."""
        for seat, player in enumerate(self.players):
            key = player.public_key
            join = engine_service_pb2.JoinAction(public_key=key, contributes=player.contributes)
            self.act(seat, ActKind.JOIN, key, player.request_id("join"), join=join)
        return self

    def contribute(self) -> HonestTable:
        """Let every seat commit and reveal: the game starts with the last."""
        if self.match.opened.mode == COMMIT_REVEAL:
            for seat, player in enumerate(self.players):
                value = acts.contribution_commitment(player)
                self.act(seat, ActKind.COMMITMENT, value, player.request_id("commitment"), commitment=value)
        for seat, player in enumerate(self.players):
            value, request_id = player.contribution, player.request_id("contribution")
            self.act(seat, ActKind.CONTRIBUTION, value, request_id, contribution=value)
        return self

    def start(self) -> HonestTable:
        """Join and contribute."""
        self.join()
        return self if self.match.state is not None else self.contribute()

    def command(self, seat: int, command: Message) -> record_pb2.Record:
        """Let a seat play."""
        data = GAME.schema.commands.pack(command).SerializeToString(deterministic=True)
        return self.act(seat, ActKind.COMMAND, data, command=data)

    def play(self, commands: int = 1_000_000, seed: int = 0) -> HonestTable:
        """Play random commands, until the end if there are not so many."""
        choices = Random(seed)
        for _ in range(commands):
            if self.match.over:
                break
            seat = choices.choice(self.match.to_act)
            self.command(seat, choices.choice(GAME.legal(self.match.state, seat)))
        return self

    # -- showing -----------------------------------------------------------------------------------

    def head(self, count: int, signer: HeadSigner = SIGNER) -> str:
        """The signed head of the first `count` records."""
        record = self.records[count - 1]
        return signer.sign(MATCH_ID, count, record.hash, records.read_body(record).time_us)

    def shown(self, seq: int, viewer: int | None, *, head: bool = False) -> match_service_pb2.WatchRecord:
        """Record `seq` as a watcher gets it; a message of its own, to be tampered with at will."""
        before, after = self.revealed[seq - 1] if seq else 0, self.revealed[seq]
        item = match_service_pb2.WatchRecord(
            record=records.redact(self.records[seq], viewer, after), head=self.head(seq + 1) if head else ""
        )
        for earlier in range(seq):
            if late := late_openings(self.records[earlier], viewer, before, after):
                item.late_openings.add(seq=earlier, openings=late)
        return item

    def stream(self, viewer: int | None, first_seq: int = 0) -> list[match_service_pb2.WatchMatchResponse]:
        """The whole stream of a watcher: the records, that all are here, and the end if the match is over."""
        items = [
            match_service_pb2.WatchMatchResponse(record=self.shown(seq, viewer))
            for seq in range(first_seq, len(self.records))
        ]
        head = self.head(len(self.records))
        items.append(match_service_pb2.WatchMatchResponse(caught_up=match_service_pb2.CaughtUp(head=head)))
        if self.match.over:
            items.append(match_service_pb2.WatchMatchResponse(ended=match_service_pb2.WatchEnded(head=head)))
        return items

    def tracker(self, viewer: int | None) -> Tracker:
        """A tracker that has received nothing."""
        return Tracker(MATCH_ID, SIGNER.verifier_key, None if viewer is None else self.players[viewer])

    def tracked(self, viewer: int | None, count: int | None = None) -> Tracker:
        """A tracker that has received the first `count` records, or all."""
        tracker = self.tracker(viewer)
        for seq in range(len(self.records) if count is None else count):
            item = self.shown(seq, viewer)
            tracker.receive(item.record, item.late_openings, item.head)
        return tracker


def run(flow: Generator[Any, Any, T], perform: Callable[[Any], Any]) -> T:
    """The result of a flow whose effects `perform` performs; an exception of it is thrown into the flow."""
    try:
        effect = next(flow)
        while True:
            try:
                result = perform(effect)
            except Exception as error:
                effect = flow.throw(error)
            else:
                effect = flow.send(result)
    except StopIteration as stop:
        value: T = stop.value
        return value


class ScriptedStreams:
    """Performs the effects of a feed: each opened stream yields what the script says, errors included.

    A stream whose script is used up has ended. `opened` holds the first records asked for.
    """

    def __init__(self, *scripts: list[Any]) -> None:
        """One script per stream, in the order in which they are opened."""
        self._scripts = list(scripts)
        self.opened: list[int] = []
        self.cancelled = 0
        self.slept: list[float] = []

    def cancel(self) -> bool:
        """Count the streams that were given up."""
        self.cancelled += 1
        return True

    def __call__(self, effect: Any) -> Any:
        """Perform one effect."""
        if isinstance(effect, Sleep):
            self.slept.append(effect.seconds)
        elif isinstance(effect, Open):
            request: Any = effect.request
            self.opened.append(request.first_seq)
            self._script = self._scripts.pop(0)
            return self
        elif isinstance(effect, Read):
            item = self._script.pop(0) if self._script else None
            if isinstance(item, Exception):
                raise item
            return item
        else:
            raise AssertionError(f"a feed does not need {effect}")
        return None


class RunningServer:
    """A server in a thread of its own, on SQLite and a fixed port, so that it can stop and come back."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        """Keep everything in `folder`."""
        self._folder = folder
        self._settings = settings
        self._port = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stop: asyncio.Event | None = None
        self._grace = 5.0

    @property
    def address(self) -> str:
        """Where it listens, running or not."""
        return f"127.0.0.1:{self._port}"

    def start(self) -> None:
        """Serve; returns when it answers."""
        ready = threading.Event()
        failure: list[BaseException] = []

        async def serve() -> None:
            settings = Settings(
                listen=f"127.0.0.1:{self._port}",
                data_dir=self._folder,
                origin="socket.test",
                watch_tick_s=0.05,
                heartbeat_s=0.5,
                **self._settings,
            )
            async with Server(settings) as server:
                self._port = server.port
                self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
                ready.set()
                await self._stop.wait()
                await server.stop(self._grace)

        def run_loop() -> None:
            try:
                asyncio.run(serve())
            except BaseException as error:
                failure.append(error)
                ready.set()

        self._thread = threading.Thread(target=run_loop, name="server")
        self._thread.start()
        ready.wait()
        if failure:
            raise failure[0]

    def stop(self, grace_s: float = 5.0) -> None:
        """Stop; what it has kept stays."""
        self._grace = grace_s
        if self._loop is not None and self._stop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()
            self._loop = None

    def __enter__(self) -> RunningServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class FakeService:
    """Answers the calls of flows from an HonestTable. `lies` change a reply, `failures` come before it, by method."""

    def __init__(self, table: HonestTable) -> None:
        """Serve one match that nobody plays but through here."""
        self.table = table
        self.lies: dict[str, Callable[[Any], object]] = {}
        self.failures: dict[str, list[Exception]] = {}
        #: Name and request of every call that got an answer or not.
        self.calls: list[tuple[str, Any]] = []
        self._replies: dict[bytes, Any] = {}
        self._stream: list[Any] = []

    def cancel(self) -> bool:
        """The stream is given up."""
        self._stream = []
        return True

    def __call__(self, effect: Any) -> Any:
        """Perform one effect."""
        if isinstance(effect, Locked):
            return run(effect.flow, self)
        if isinstance(effect, Sleep):
            return None
        if isinstance(effect, Read):
            return self._stream.pop(0) if self._stream else None
        request: Any = effect.request
        self.calls.append((effect.method, request))
        failures = self.failures.get(effect.method)
        if isinstance(effect, Open):
            self._stream = self.table.stream(self._viewer(request.token), request.first_seq)
            return self
        reply = getattr(self, f"_{effect.method}")(request)
        if failures:  # after the act was done: what got lost is the reply
            raise failures.pop(0)
        if effect.method in self.lies:
            self.lies[effect.method](reply)
        return reply

    def methods(self) -> list[str]:
        """The names of all calls."""
        return [method for method, _ in self.calls]

    def _viewer(self, token: str) -> int | None:
        return int(token.removeprefix("token-")) if token else None

    def _GetOrigin(self, _: Any) -> Any:  # noqa: N802  # the names of calls
        key = SIGNER.verifier_key
        return catalog_service_pb2.GetOriginResponse(origin=key.origin, verifier_key=str(key))

    def _GetMatch(self, _: Any) -> Any:  # noqa: N802
        match, count = self.table.match, len(self.table.records)
        info = match_service_pb2.MatchInfo(
            match_id=MATCH_ID, opened=match.opened, first_hash=match.first_hash, record_count=count
        )
        return match_service_pb2.GetMatchResponse(match=info, head=self.table.head(count))

    def _ListRecords(self, request: Any) -> Any:  # noqa: N802
        shown = [self.table.shown(seq, None).record for seq in range(request.page_size)]
        return match_service_pb2.ListRecordsResponse(records=shown)

    def _JoinMatch(self, request: Any) -> Any:  # noqa: N802
        player = self.table.players[request.seat]
        player.private_key, player.contribution = self.joining.private_key, self.joining.contribution
        player.secret = request.secret
        join = engine_service_pb2.JoinAction(public_key=request.public_key, contributes=request.contributes)
        request_id = player.request_id("join")
        done = self._once(
            request.seat, ActKind.JOIN, request.public_key, request_id, match_service_pb2.JoinMatchResponse, join=join
        )
        done.token = player.token
        return done

    #: Credentials with which the client under test joins.
    joining: Credentials

    def _CommitContribution(self, request: Any) -> Any:  # noqa: N802
        value, reply = request.commitment, match_service_pb2.CommitContributionResponse
        return self._act(request, ActKind.COMMITMENT, value, reply, commitment=value)

    def _RevealContribution(self, request: Any) -> Any:  # noqa: N802
        value, reply = request.contribution, match_service_pb2.RevealContributionResponse
        return self._act(request, ActKind.CONTRIBUTION, value, reply, contribution=value)

    def _SubmitCommand(self, request: Any) -> Any:  # noqa: N802
        value, reply = request.command, match_service_pb2.SubmitCommandResponse
        return self._act(request, ActKind.COMMAND, value, reply, command=value)

    def _ResignMatch(self, request: Any) -> Any:  # noqa: N802
        reply = match_service_pb2.ResignMatchResponse
        return self._act(request, ActKind.RESIGN, b"", reply, resign=engine_service_pb2.ResignAction())

    def _act(self, request: Any, kind: ActKind, payload: bytes, reply: Any, **action: Any) -> Any:
        seat = self._viewer(request.act.token) or 0
        return self._once(seat, kind, payload, request.act.request_id, reply, **action)

    def _once(self, seat: int, kind: ActKind, payload: bytes, request_id: bytes, reply: Any, **action: Any) -> Any:
        """The reply of an act; the same one when the request is repeated."""
        if request_id not in self._replies:
            try:
                self.table.act(seat, kind, payload, request_id, **action)
            except faults.WrongPhase as error:
                raise errors.WrongPhase(str(error)) from error
            item = self.table.shown(len(self.table.records) - 1, seat, head=True)
            made = reply(record=item.record, head=item.head)
            if "late_openings" in reply.DESCRIPTOR.fields_by_name:
                made.late_openings.extend(item.late_openings)
            self._replies[request_id] = made
        copy = reply()
        copy.CopyFrom(self._replies[request_id])
        return copy
