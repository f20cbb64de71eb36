"""What can go wrong between a client and a service. Nobody needs to read a message text to tell.

ClientError
 ├── ServiceError                 the service refused, and says why
 │    ├── Malformed                  MALFORMED            a field cannot be read: `violations`
 │    ├── IllegalOptions             ILLEGAL_OPTIONS      an option does not fit: `violations`
 │    ├── UnknownGame                UNKNOWN_GAME
 │    ├── UnknownMatch               UNKNOWN_MATCH
 │    ├── BadToken                   BAD_TOKEN
 │    ├── ForeignSeat                FOREIGN_SEAT
 │    ├── BadSignature               BAD_SIGNATURE
 │    ├── IllegalCommand             ILLEGAL_COMMAND      `rule`, `command` and `view`
 │    ├── WrongPhase                 WRONG_PHASE
 │    ├── StaleDecision              STALE_DECISION
 │    ├── RequestIdReused            REQUEST_ID_REUSED
 │    ├── SeatTaken                  SEAT_TAKEN
 │    ├── TooLarge                   TOO_LARGE
 │    ├── Unavailable                UNAVAILABLE          retried before it is raised
 │    ├── LedgerBroken               LEDGER_BROKEN
 │    ├── InternalError              INTERNAL
 │    ├── Unimplemented              UNIMPLEMENTED
 │    ├── NotInvited                 NOT_INVITED
 │    ├── NoSpectators               NO_SPECTATORS
 │    ├── BadApiKey                  BAD_API_KEY
 │    ├── MissingScope               MISSING_SCOPE
 │    ├── RateLimited                RATE_LIMITED         retried before it is raised; `retry_after`
 │    ├── QuotaExceeded              QUOTA_EXCEEDED       `retry_after`
 │    ├── MatchPaused                PAUSED
 │    ├── TimerDue                   TIMER_DUE
 │    └── MatchRestored              RESTORED
 ├── TransportError               no answer of the service: `code` is the gRPC status
 ├── Closed                       the client or the table was closed
 ├── UnknownRuleset               this build cannot follow the rules of the match
 ├── BadCredentials               a credentials file cannot be used
 ├── BadTrustStore                a file of pinned keys cannot be used
 └── ServerCheated                the service answered what cannot be true (also a LedgerFault)
      ├── Tampered                   bytes, numbers or times do not fit: chain, seals, clocks
      ├── RewrittenHistory           another record than the one received before
      ├── TruncatedHistory           fewer records than a signed head of before vouches for
      ├── BrokenStream               a stream repeats, skips or ends too early
      ├── BadOpening                 an opening is wrong, is missing, or should not be there
      ├── SeedMismatch               a seed or the entropy does not follow from the commitments
      ├── ContributionIgnored        the own contribution is not in the ledger as it was given
      ├── ForgedAct                  an act of a seat that the seat did not sign or send
      ├── RulesBroken                a command or an event against the rules
      ├── BadHead                    a signed head is missing, unsigned, or not of these records
      ├── Equivocation               two heads of one match and count: `notes` holds the proof
      ├── KeyListsDiffer             two key lists of one origin and number: `notes` holds the proof
      ├── KeyListRolledBack          the origin shows an older key list than before
      ├── KeyRevoked                 the pinned key of the origin is compromised, by its own word
      ├── BadKeyList                 a key list is not right, or takes back what an earlier one says
      └── OriginChanged              the origin signs with a key that the pinned one does not vouch for

Each class of a reason stands for one value of `sixledger.v1.Reason`, whose annotations give its status,
its remedy and whether the same request may succeed later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sixledger.annotations.v1 import error_pb2 as error_annotations
from sixledger.ledger.faults import LedgerFault
from sixledger.v1 import error_pb2, game_pb2, replay_service_pb2

if TYPE_CHECKING:
    from sixledger.client.core.evidence import Evidence

#: Domain of the reasons in `google.rpc.ErrorInfo`.
DOMAIN = "sixledger.dev"


class ClientError(Exception):
    """Base of everything that this package raises on purpose. Its texts hold no secret."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A field of the request that cannot stay as it is."""

    field: str
    description: str


class ServiceError(ClientError):
    """The service refused. Raised itself only for a reason that this build does not know."""

    #: The reason for which a subclass stands.
    REASON: ClassVar[error_pb2.Reason.ValueType] = error_pb2.REASON_UNSPECIFIED

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        violations: Sequence[Violation] = (),
        retry_after: float = 0.0,
    ) -> None:
        """`reason` is the name on the wire, without its prefix; default: that of the class."""
        super().__init__(message)
        self.message = message
        self.reason = reason or error_pb2.Reason.Name(self.REASON).removeprefix("REASON_")
        self.metadata = dict(metadata or {})
        self.violations = tuple(violations)
        #: Seconds to wait at least before the same request is made again; 0: the service does not say.
        self.retry_after = retry_after

    @property
    def contract(self) -> error_annotations.ErrorContract:
        """Status code, remedy and retryability, from the schema; empty for an unknown reason."""
        value: Any = error_pb2.Reason.DESCRIPTOR.values_by_number[self.REASON]
        contract: error_annotations.ErrorContract = value.GetOptions().Extensions[error_annotations.error]
        return contract

    @property
    def retryable(self) -> bool:
        """True if the same request may succeed later without a change."""
        return self.contract.retryable

    @property
    def remedy(self) -> str:
        """What the caller can do about it."""
        return self.contract.remedy


class Malformed(ServiceError):
    """The request cannot be read or breaks a limit of its fields; `violations` names them."""

    REASON = error_pb2.REASON_MALFORMED


class IllegalOptions(ServiceError):
    """The options do not fit the game, the variant or the number of seats; `violations` names them."""

    REASON = error_pb2.REASON_ILLEGAL_OPTIONS


class UnknownGame(ServiceError):
    """No such game or ruleset there."""

    REASON = error_pb2.REASON_UNKNOWN_GAME


class UnknownMatch(ServiceError):
    """No such match there."""

    REASON = error_pb2.REASON_UNKNOWN_MATCH


class BadToken(ServiceError):
    """The token is missing, cannot be read, was forged or has expired."""

    REASON = error_pb2.REASON_BAD_TOKEN


class ForeignSeat(ServiceError):
    """The token is valid, but not for this match, seat or call."""

    REASON = error_pb2.REASON_FOREIGN_SEAT


class BadSignature(ServiceError):
    """The seat signs its acts, and this act has no valid signature."""

    REASON = error_pb2.REASON_BAD_SIGNATURE


class IllegalCommand(ServiceError):
    """The rules do not allow the command now."""

    REASON = error_pb2.REASON_ILLEGAL_COMMAND
    #: Stable identifier of the broken rule, for example `not_in_hand`.
    rule: str = ""
    #: The refused command, an envelope; None if the service did not attach it.
    command: game_pb2.Command | None = None
    #: What the refused seat sees, an envelope; None if the service did not attach it.
    view: game_pb2.View | None = None


class WrongPhase(ServiceError):
    """The match is in another phase of its life: not started, already full, or over."""

    REASON = error_pb2.REASON_WRONG_PHASE


class StaleDecision(ServiceError):
    """The command answers another decision than the open one."""

    REASON = error_pb2.REASON_STALE_DECISION


class RequestIdReused(ServiceError):
    """The request id was used before for something else."""

    REASON = error_pb2.REASON_REQUEST_ID_REUSED


class SeatTaken(ServiceError):
    """The seat is taken."""

    REASON = error_pb2.REASON_SEAT_TAKEN


class TooLarge(ServiceError):
    """Something in the request is larger than allowed."""

    REASON = error_pb2.REASON_TOO_LARGE


class Unavailable(ServiceError):
    """The service is draining or the watcher is too slow, and stayed so for the whole patience."""

    REASON = error_pb2.REASON_UNAVAILABLE


class LedgerBroken(ServiceError):
    """The stored ledger of the match is broken."""

    REASON = error_pb2.REASON_LEDGER_BROKEN


class InternalError(ServiceError):
    """A defect of the service; the metadata hold the incident id to report."""

    REASON = error_pb2.REASON_INTERNAL


class Unimplemented(ServiceError):
    """The call does not exist there."""

    REASON = error_pb2.REASON_UNIMPLEMENTED


class NotInvited(ServiceError):
    """The table is private, and the call came without an invitation that is good for the seat."""

    REASON = error_pb2.REASON_NOT_INVITED


class NoSpectators(ServiceError):
    """The table does not allow spectators."""

    REASON = error_pb2.REASON_NO_SPECTATORS


class BadApiKey(ServiceError):
    """The call needs an API key, or the client's key is unknown, was revoked or has expired."""

    REASON = error_pb2.REASON_BAD_API_KEY


class MissingScope(ServiceError):
    """The client's API key is valid, but not for this call."""

    REASON = error_pb2.REASON_MISSING_SCOPE


class RateLimited(ServiceError):
    """The client makes calls faster than it may, and did so for the whole patience."""

    REASON = error_pb2.REASON_RATE_LIMITED


class QuotaExceeded(ServiceError):
    """The client has as many of something at a time as it may have; the metadata name the `quota`."""

    REASON = error_pb2.REASON_QUOTA_EXCEEDED


class MatchPaused(ServiceError):
    """The match is paused: no command is accepted until its owner lets it go on."""

    REASON = error_pb2.REASON_PAUSED


class TimerDue(ServiceError):
    """A deadline has passed and its timer has not fired. Only callers of the engine service see it."""

    REASON = error_pb2.REASON_TIMER_DUE


class MatchRestored(ServiceError):
    """The match was restored from a backup that may lack its newest records: it can be read and aborted, no more."""

    REASON = error_pb2.REASON_RESTORED


BY_REASON: Mapping[str, type[ServiceError]] = {
    error_pb2.Reason.Name(kind.REASON).removeprefix("REASON_"): kind for kind in ServiceError.__subclasses__()
}


class TransportError(ClientError):
    """The call got no answer of the service. `code` is the name of the gRPC status, such as `UNAVAILABLE`."""

    #: Codes with which a call may be repeated; acts carry a request id, so repeating one never doubles it.
    #: INTERNAL and UNKNOWN come without a reason only from the transport itself (a reset connection).
    RETRYABLE: ClassVar[frozenset[str]] = frozenset(
        {"UNAVAILABLE", "CANCELLED", "DEADLINE_EXCEEDED", "INTERNAL", "UNKNOWN"}
    )

    def __init__(self, code: str, message: str) -> None:
        """Keep the code beside the transport's own words."""
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message

    @property
    def retryable(self) -> bool:
        """True if the same request may succeed later without a change."""
        return self.code in self.RETRYABLE


class Closed(ClientError):
    """The client or the table was closed before or during the call."""


class UnknownRuleset(ClientError):
    """This build has not the rules of the match: it can neither check nor play it."""


class BadCredentials(ClientError):
    """A credentials file cannot be read, or others may read it."""


class BadTrustStore(ClientError):
    """A file of pinned keys cannot be read."""


class ServerCheated(LedgerFault, ClientError):
    """What the service sent cannot be true. `verdict`, `layer` and `message` as in LedgerFault.

    `seq` is the record at which it shows, None if it is none. Everything before it stays usable. `evidence` is what
    to keep, in files with `evidence.save(folder)`; None where nothing was received of any match.
    """

    VERDICT: ClassVar[replay_service_pb2.Verdict.ValueType] = replay_service_pb2.VERDICT_TAMPERED
    LAYER: ClassVar[str] = "chain"

    def __init__(self, message: str, *, layer: str = "", seq: int | None = None) -> None:
        """`layer` as in LedgerFault; default: that of the class."""
        super().__init__(self.VERDICT, layer or self.LAYER, message)
        self.seq = seq
        #: What was believed, every signed head, and what the service said last. Holds secrets of the own seat.
        self.evidence: Evidence | None = None

    def __str__(self) -> str:
        """The message, with the record."""
        return self.message if self.seq is None else f"record {self.seq}: {self.message}"


class Tampered(ServerCheated):
    """Bytes, numbers or times do not fit: the chain, the seals or the clock are broken."""


class RewrittenHistory(ServerCheated):
    """The service shows another record than the one it sent before."""


class TruncatedHistory(ServerCheated):
    """The service shows fewer records than it vouched for before, with a signed head that was kept."""

    VERDICT = replay_service_pb2.VERDICT_TRUNCATED
    LAYER = "heads"


class BrokenStream(ServerCheated):
    """A stream repeats or skips records, or ends before the match does."""


class BadOpening(ServerCheated):
    """An opening does not fit its seal, is missing, or should not be there."""

    VERDICT = replay_service_pb2.VERDICT_BAD_OPENING
    LAYER = "openings"


class SeedMismatch(ServerCheated):
    """A seed, a contribution or the entropy does not follow from the commitments."""

    VERDICT = replay_service_pb2.VERDICT_SEED_MISMATCH
    LAYER = "seeds"


class ContributionIgnored(SeedMismatch):
    """The own contribution is not in the ledger as it was given."""


class ForgedAct(ServerCheated):
    """The ledger holds an act that its seat did not sign, or not like this."""

    VERDICT = replay_service_pb2.VERDICT_BAD_SIGNATURE
    LAYER = "rules"


class RulesBroken(ServerCheated):
    """A command or an event does not follow from the rules: played again when its epoch was revealed, or earlier."""

    VERDICT = replay_service_pb2.VERDICT_RULES_DIVERGENCE
    LAYER = "rules"


class BadHead(ServerCheated):
    """A signed head is missing, not signed by the pinned key, or not of these records."""

    VERDICT = replay_service_pb2.VERDICT_BAD_SIGNATURE
    LAYER = "heads"


class Equivocation(ServerCheated):
    """Two signed heads of one match and count. `notes` holds both: together they prove fraud."""

    VERDICT = replay_service_pb2.VERDICT_EQUIVOCATION
    LAYER = "heads"

    def __init__(self, message: str, notes: tuple[str, str]) -> None:
        """Keep the proof."""
        super().__init__(message)
        self.notes = notes


class KeyListsDiffer(ServerCheated):
    """Two key lists of one origin have the same number and say different things: fraud, or a stolen key.

    `notes` holds both, each signed by a key that was trusted.
    """

    VERDICT = replay_service_pb2.VERDICT_EQUIVOCATION
    LAYER = "heads"

    def __init__(self, message: str, notes: tuple[str, str]) -> None:
        """Keep the proof."""
        super().__init__(message)
        self.notes = notes


class KeyListRolledBack(ServerCheated):
    """The origin shows a key list with a lower number than one that it showed before."""

    VERDICT = replay_service_pb2.VERDICT_BAD_SIGNATURE
    LAYER = "heads"


class KeyRevoked(ServerCheated):
    """The trusted key of the origin is compromised, by a list that it signed: what it signs proves nothing any more.

    No other trusted key vouches for the next one: ask the operator for it on another way, then trust that.
    """

    VERDICT = replay_service_pb2.VERDICT_BAD_SIGNATURE
    LAYER = "heads"


class BadKeyList(ServerCheated):
    """A key list of the origin cannot be read, or takes back what an earlier one says."""

    VERDICT = replay_service_pb2.VERDICT_BAD_SIGNATURE
    LAYER = "heads"


class OriginChanged(ServerCheated):
    """The origin shows another key than the pinned one, and the pinned one does not vouch for it."""

    VERDICT = replay_service_pb2.VERDICT_BAD_SIGNATURE
    LAYER = "heads"


_FAMILY: Mapping[replay_service_pb2.Verdict.ValueType, type[ServerCheated]] = {
    replay_service_pb2.VERDICT_TAMPERED: Tampered,
    replay_service_pb2.VERDICT_TRUNCATED: BrokenStream,
    replay_service_pb2.VERDICT_BAD_OPENING: BadOpening,
    replay_service_pb2.VERDICT_SEED_MISMATCH: SeedMismatch,
    replay_service_pb2.VERDICT_BAD_SIGNATURE: ForgedAct,
    replay_service_pb2.VERDICT_ILLEGAL_COMMAND: RulesBroken,
    replay_service_pb2.VERDICT_RULES_DIVERGENCE: RulesBroken,
}


def cheated(fault: LedgerFault, seq: int | None) -> ClientError:
    """The client's error for a fault that the ledger's own checks found in what the service sent."""
    if isinstance(fault, ServerCheated):
        return fault
    if fault.verdict == replay_service_pb2.VERDICT_UNKNOWN_RULESET:
        return UnknownRuleset(fault.message)
    kind = BadHead if fault.layer == "heads" else _FAMILY.get(fault.verdict, Tampered)
    error = kind(fault.message, layer=fault.layer, seq=seq)
    error.verdict = fault.verdict
    error.differences = fault.differences
    return error
