"""What one viewer has received of a match, believed record by record and never without a check.

The tracker folds the ledger with the openings that the viewer got. What the fold refuses (chain, clock,
seals, seeds, entropy, signatures), it refuses; beyond that it knows which openings the viewer must get,
what its own seat did and did not do, whose turn it is, and which heads were signed. When an epoch is revealed, it
plays the epoch again: deals and rules. After a fault it takes nothing more, and keeps the evidence.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import RLock
from typing import Any, NoReturn

from google.protobuf.message import Message
from sixledger.client.core import acts, conduct
from sixledger.client.core.evidence import Evidence, Told
from sixledger.client.core.openings import Openings
from sixledger.client.core.origin_keys import OriginKeys
from sixledger.client.core.receipts import Receipts
from sixledger.client.core.recorded import Recorded
from sixledger.client.core.timing import ServiceTime
from sixledger.client.credentials import Credentials
from sixledger.client.errors import (
    BadHead,
    ClientError,
    Equivocation,
    ForgedAct,
    RewrittenHistory,
    ServerCheated,
    TruncatedHistory,
    cheated,
)
from sixledger.engine.game import Outcome
from sixledger.engine.registry import Registry
from sixledger.ledger import viewers
from sixledger.ledger.clocks import reading
from sixledger.ledger.faults import LedgerFault
from sixledger.ledger.folding import begin
from sixledger.ledger.heads import VerifierKey
from sixledger.ledger.match import Match
from sixledger.ledger.records import Facts
from sixledger.v1 import match_service_pb2, record_pb2, replay_service_pb2


class Tracker:
    """The ledger of one match as one viewer receives it."""

    def __init__(
        self,
        match_id: bytes,
        key: VerifierKey | OriginKeys,
        credentials: Credentials | None = None,
        registry: Registry | None = None,
    ) -> None:
        """`key` signs the heads; without `credentials` the viewer is a spectator."""
        self.match_id = match_id
        self.credentials = credentials
        self.viewer = credentials.seat if credentials is not None else None
        self.receipts = Receipts(match_id, key, credentials)
        #: What time it is at the service.
        self.time = ServiceTime()
        self.received: list[Recorded] = []
        #: What ended the trust in the service; every later use raises it.
        self.fault: ClientError | None = None
        self.registry = registry
        #: True once the own seat was given up: from then on the viewer is nobody.
        self.left = False
        #: True while the own token is about to be replaced.
        self.renewing = False
        #: Number of the record of the own join; -1 before.
        self._since = -1
        self._match: Match | None = None
        self._openings = Openings(self.viewer)
        #: Commands of this process by request id.
        self._sent: dict[bytes, bytes] = {}
        #: Kind of the cause, seat and request id of every record: nothing happens twice.
        self._requests: set[tuple[int, int, bytes]] = set()
        #: Held while records are taken; reentrant.
        self.lock = RLock()

    # -- reading ---------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """Number of records received."""
        return len(self.received)

    @property
    def match(self) -> Match:
        """Where the match stands after the last record received. Raises the fault, if there was one."""
        if self.fault is not None:
            raise self.fault
        if self._match is None:
            raise LookupError("no record of the match was received yet")
        return self._match

    @property
    def evidence(self) -> Evidence | None:
        """What to keep of the lie that ended the trust; None if there was none."""
        return self.fault.evidence if isinstance(self.fault, ServerCheated) else None

    @property
    def replayed(self) -> int:
        """How many records were played again from their seeds: those of the revealed epochs, all after the end."""
        return self._openings.audit.played

    @property
    def over(self) -> bool:
        """True once the match has ended or was aborted."""
        return self._match is not None and self._match.over

    @property
    def started(self) -> bool:
        """True once the game has begun."""
        return self._match is not None and self._match.state is not None

    @property
    def may_act(self) -> bool:
        """True if the own seat may act now."""
        return self.started and not self.left and self.viewer in self.match.to_act and not self.match.paused

    def view(self) -> Any:
        """What the viewer sees, a message of the game. Raises LookupError before the start."""
        match = self._running()
        return match.game.view(match.state, self.viewer)

    def legal(self) -> list[Message]:
        """The legal commands of the own seat; none for a spectator, before the start and after the end."""
        if not self.may_act or self.viewer is None:
            return []
        return self.match.game.legal(self.match.state, self.viewer)

    def outcome(self) -> Outcome | None:
        """The result, or None while the match runs or if it ended before the start."""
        match = self.match
        return match.game.outcome(match.state) if match.state is not None else None

    def clock(self) -> match_service_pb2.ClockState | None:
        """How the clocks stand now, by the time of the service; None without time limits."""
        return reading(self.match, self.time.now())

    def _running(self) -> Match:
        match = self.match
        if match.state is None:
            raise LookupError("the game has not started")
        return match

    # -- receiving -------------------------------------------------------------------------------

    def receive(
        self,
        record: record_pb2.Record,
        late: Iterable[record_pb2.LateOpenings] = (),
        head: str = "",
        body: record_pb2.Body | None = None,
    ) -> Recorded:
        """Take the next record with the openings of earlier ones; `body`, of `read_body`, saves reading it again.

        Raises ServerCheated or UnknownRuleset.
        """
        with self.lock:
            if self.fault is not None:
                raise self.fault
            late = list(late) if late else []
            try:
                recorded = self._receive(record, late, body)
                if head:
                    self._take_head(head, exactly=self.count)
            except ClientError as error:  # a lie, which is a LedgerFault as well, or rules that this build has not
                self.refuse(error, Told(record, tuple(late), head))
            except LedgerFault as error:
                fault = cheated(error, self.count if error.seq is None else error.seq)
                self.doubt(fault, Told(record, tuple(late), head))
                raise fault from error
            return recorded

    def confirm(self, seq: int, record: record_pb2.Record) -> Recorded:
        """A record received before, sent again. Raises RewrittenHistory if it is another one."""
        held = self.received[seq]
        if (record.hash, record.body) != (held.record.hash, held.record.body):
            self.refuse(RewrittenHistory("is another one than the one received before", seq=seq), Told(record))
        return held

    def head(self, note: str, *, least: int = 0, exactly: int | None = None) -> None:
        """Take a signed head of at least `least` or exactly so many records. Raises BadHead, Equivocation."""
        with self.lock:
            if self.fault is not None:
                raise self.fault
            try:
                self._take_head(note, least=least, exactly=exactly)
            except ClientError as error:
                self.refuse(error, Told(head=note))

    def check_kept(self, count: int) -> None:
        """Check that `count`, all records that the service shows, are no fewer than it vouched for before a restart.

        Raises TruncatedHistory.
        """
        kept = self.receipts.kept
        if count < kept:
            message = f"the service shows {count} records; it has signed a head of {kept}, which is kept"
            self.refuse(TruncatedHistory(message, seq=count))

    def refuse(self, fault: ClientError, told: Told | None = None) -> NoReturn:
        """Trust the service no more, because of what it `told`. Raises `fault`."""
        self.doubt(fault, told)
        raise fault

    def doubt(self, fault: ClientError, told: Told | None = None) -> None:
        """Trust the service no more, because of what it `told`: the first fault stays. A lie gets its evidence."""
        with self.lock:
            self.fault = self.fault or fault
            if isinstance(fault, ServerCheated) and fault.evidence is None:
                fault.evidence = self._evidence(fault, told or Told())

    def _evidence(self, fault: ServerCheated, told: Told) -> Evidence:
        return Evidence(
            self.match_id,
            self.receipts.key,
            viewers.SPECTATOR if self.viewer is None else viewers.seat_name(self.viewer),
            type(fault).__name__,
            fault.message,
            replay_service_pb2.Verdict.Name(fault.verdict).removeprefix("VERDICT_"),
            fault.layer,
            fault.seq,
            tuple(recorded.record for recorded in self.received),
            self.receipts.believed(),
            self.receipts.doubted() + (fault.notes if isinstance(fault, Equivocation) else ()),
            told,
            self.registry,
            self.receipts.origin.keys,
        )

    def _take_head(self, note: str, *, least: int = 0, exactly: int | None = None) -> None:
        count = self.receipts.take(note)
        if count < least or (exactly is not None and count != exactly):
            raise BadHead(f"the head is of {count} records where it must be of {exactly or least}")
        self._check_end()
        if count <= self.count:
            held = self.received[count - 1]
            self.receipts.meet(count, held.record.hash, held.body.time_us)

    def _check_end(self) -> None:
        """No head vouches for more records than the match has."""
        if self.over and self.receipts.highest > self.count:
            message = f"a signed head is of {self.receipts.highest} records, the match ended with {self.count}"
            raise BadHead(message)

    def _receive(
        self, record: record_pb2.Record, late: list[record_pb2.LateOpenings], body: record_pb2.Body | None
    ) -> Recorded:
        if self._match is None:
            self._match = begin(record, self.registry)
        match = self._match
        if not self.received and match.match_id != self.match_id:
            raise RewrittenHistory("opens another match than the one asked for", seq=0)
        recent = match.recent.copy()
        facts = match.apply(record, before=self._check_conduct, body=body)
        if self.credentials is not None:
            self._check_own(match, facts, self.credentials)
        self._openings.check(match, facts, recent)
        body = facts.body
        # Nothing is due before an epoch is revealed.
        opened = self._openings.open(match, self.received, late) if late or body.reveals else ()
        self.receipts.meet(match.seq + 1, match.hash, body.time_us)
        recorded = Recorded(match.seq, record, facts, opened)
        self.received.append(recorded)
        self.time.learn(body.time_us)
        if body.reveals:
            self._openings.audit.follow(match, self.received)
        if match.over:
            self._check_end()
        return recorded

    def _check_conduct(self, facts: Facts) -> None:
        """What nobody can have done, while the match stands before the record."""
        cause, match = facts.body.cause, self._match
        request = (cause.kind, cause.seat, cause.request_id)
        if request in self._requests:
            raise ForgedAct("the request id was used before by the same seat", seq=self.count)
        self._requests.add(request)
        assert match is not None, "a record is applied to it"
        if self.credentials is not None:
            acts.check_sealing(match, facts.body, self.credentials, self._since)
        conduct.check(match, facts)

    def _check_own(self, match: Match, facts: Facts, credentials: Credentials) -> None:
        step = acts.own_step(facts.body, credentials)
        if step == "joined":
            self._since = match.seq
        elif step == "left" and self._since >= 0:
            self.left = True
        if not self.left:
            acts.check_own_seat(match, facts.body, credentials, self._since)
        self._check_sent(facts)

    # -- the own seat's acts -----------------------------------------------------------------------

    def sent(self, request_id: bytes, command: bytes) -> None:
        """Remember a command, to find it unchanged in the ledger."""
        self._sent[request_id] = command

    def _check_sent(self, facts: Facts) -> None:
        cause = facts.body.cause
        if cause.kind != record_pb2.CAUSE_KIND_SEAT or cause.seat != self.viewer:
            return
        command = self._sent.get(cause.request_id)
        # An opening that is missing is missed with the others.
        if None not in (command, facts.command_bytes) and facts.command_bytes != command:
            raise ForgedAct("holds another command than the one sent", seq=self.count)
