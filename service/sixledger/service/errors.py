"""Errors of the service, each with a reason of the schema (`sixledger.v1.Reason`).

Servicers raise ServiceError; the interceptor turns it into a status. `translate` gives the ServiceError of
what engine, ledger and store raise. Nobody matches on message texts: (reason, domain) is the contract.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from google.protobuf.message import Message
from sixledger.annotations.v1 import error_pb2 as contracts
from sixledger.engine.errors import EngineError, IllegalCommand, IllegalOptions, MalformedCommand, UnknownGame
from sixledger.engine.schema import Malformed
from sixledger.ledger.faults import (
    BadSignature,
    LedgerFault,
    MalformedAct,
    Paused,
    Refused,
    SeatTaken,
    StaleDecision,
    TimerDue,
    WrongPhase,
)
from sixledger.service.store import StoreError
from sixledger.v1 import error_pb2

#: Domain of every `google.rpc.ErrorInfo`.
DOMAIN = "sixledger.dev"

Reason = error_pb2.Reason


@dataclass(frozen=True, slots=True)
class Contract:
    """What a reason means: its name on the wire, gRPC status code, remedy, and whether trying again may help."""

    name: str
    status: str
    remedy: str
    retryable: bool


@cache
def contract(reason: Reason.ValueType) -> Contract:
    """The contract of a reason, as the schema states it."""
    value = Reason.DESCRIPTOR.values_by_number[reason]
    stated = value.GetOptions().Extensions[contracts.error]
    return Contract(value.name.removeprefix("REASON_"), stated.status, stated.remedy, stated.retryable)


class ServiceError(Exception):
    """A call that failed for a reason of the schema. Neither the text nor a field holds a secret.

    `violations` are pairs of a field path and what is wrong with it; `metadata` travels in the
    ErrorInfo; `detail` is a further message for the caller alone: it is never logged.
    """

    def __init__(
        self,
        reason: Reason.ValueType,
        message: str,
        *,
        metadata: Mapping[str, str] | None = None,
        violations: Sequence[tuple[str, str]] = (),
        detail: Message | None = None,
        retry_after_s: float = 0,
    ) -> None:
        """Say what was wrong; what to do about it follows from the reason."""
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.metadata = dict(metadata or {})
        self.violations = tuple(violations)
        self.detail = detail
        #: Wait at least so many seconds before the same is tried again; 0: what the reason says.
        self.retry_after_s = retry_after_s

    @property
    def contract(self) -> Contract:
        """The contract of the reason."""
        return contract(self.reason)


def malformed(field: str, description: str) -> ServiceError:
    """A field cannot be read or breaks a limit."""
    message = f"{field}: {description}" if field else description
    return ServiceError(error_pb2.REASON_MALFORMED, message, violations=[(field, description)])


def unknown_match(match_id: bytes) -> ServiceError:
    """No such match here."""
    return ServiceError(error_pb2.REASON_UNKNOWN_MATCH, f"there is no match {match_id.hex()} here")


def bad_token(what: str) -> ServiceError:
    """The token is missing, cannot be read, was forged or has expired. `what` never repeats it."""
    return ServiceError(error_pb2.REASON_BAD_TOKEN, f"the token {what}")


def foreign_seat(what: str) -> ServiceError:
    """The token is valid, but not for this."""
    return ServiceError(error_pb2.REASON_FOREIGN_SEAT, f"the token is {what}")


def not_invited(what: str) -> ServiceError:
    """The table is private, and `what` is wrong with the invitation."""
    return ServiceError(error_pb2.REASON_NOT_INVITED, f"the table is private, and {what}")


def no_spectators() -> ServiceError:
    """The table is for its seats alone."""
    return ServiceError(error_pb2.REASON_NO_SPECTATORS, "the table does not allow spectators")


def bad_api_key(what: str) -> ServiceError:
    """The API key is missing, cannot be read, is unknown or has ended. `what` never repeats it."""
    return ServiceError(error_pb2.REASON_BAD_API_KEY, f"the API key {what}")


def rate_limited(wait_s: float) -> ServiceError:
    """The caller is too fast."""
    return ServiceError(
        error_pb2.REASON_RATE_LIMITED, f"too many calls: wait {wait_s:.3f} seconds", retry_after_s=wait_s
    )


def quota_exceeded(quota: str, limit: int, *, retry_after_s: float = 5) -> ServiceError:
    """The caller has as many of something at a time as it may have."""
    return ServiceError(
        error_pb2.REASON_QUOTA_EXCEEDED,
        f"there are {limit} {quota.replace('_', ' ')} already, more are not allowed",
        metadata={"quota": quota, "limit": str(limit)},
        retry_after_s=retry_after_s,
    )


def wrong_phase(message: str) -> ServiceError:
    """The match is in another phase of its life."""
    return ServiceError(error_pb2.REASON_WRONG_PHASE, message)


def request_id_reused() -> ServiceError:
    """The request id was used before for something else."""
    return ServiceError(
        error_pb2.REASON_REQUEST_ID_REUSED, "the request id, or the secret it follows from, was used for something else"
    )


def too_large(what: str, limit: int) -> ServiceError:
    """Something is larger than allowed."""
    message = f"{what} is larger than {limit} bytes"
    return ServiceError(error_pb2.REASON_TOO_LARGE, message, metadata={"limit": str(limit)})


def unavailable(message: str) -> ServiceError:
    """Not now; trying again may help."""
    return ServiceError(error_pb2.REASON_UNAVAILABLE, message)


def ledger_broken(match_id: bytes, fault: str) -> ServiceError:
    """The stored ledger of a match is broken."""
    return ServiceError(
        error_pb2.REASON_LEDGER_BROKEN,
        f"the stored ledger of match {match_id.hex()} is broken: {fault}",
        metadata={"match": match_id.hex()},
    )


def illegal(error: IllegalCommand, detail: Message | None = None) -> ServiceError:
    """The rules do not allow the command now."""
    return ServiceError(error_pb2.REASON_ILLEGAL_COMMAND, str(error), metadata={"rule": error.rule}, detail=detail)


def translate(error: Exception, field: str = "") -> ServiceError | None:
    """The ServiceError of an exception of engine, ledger or store; None if it is a defect of ours.

    `field` is the path in the request of the message that the error's own path starts from.
    """
    match error:
        case ServiceError():
            return error
        case MalformedCommand() | MalformedAct():
            return malformed(".".join(filter(None, (field, error.field))), error.message)
        case Malformed():
            return malformed(field, str(error))
        case IllegalCommand():
            return illegal(error)
        case IllegalOptions():
            return ServiceError(
                error_pb2.REASON_ILLEGAL_OPTIONS,
                str(error),
                metadata={"option": error.option},
                violations=[(_option_field(error.option), f"{error.message}; allowed: {error.allowed}")],
            )
        case UnknownGame():
            return ServiceError(error_pb2.REASON_UNKNOWN_GAME, str(error))
        case StaleDecision():
            metadata = {"given": str(error.given), "current": str(error.current)}
            return ServiceError(error_pb2.REASON_STALE_DECISION, str(error), metadata=metadata)
        case Refused():
            return ServiceError(_REFUSALS[type(error)], str(error))
        case StoreError():
            # Its text names files and drivers: for the operator, who finds it in the log.
            return unavailable("the store cannot do it now")
    return None


def _option_field(option: str) -> str:
    """The path of an option in a request; the number of players is a field of its own."""
    return {"players": "seats", "options": "options"}.get(option, f"options.{option}")


_REFUSALS: dict[type[Refused], Reason.ValueType] = {
    WrongPhase: error_pb2.REASON_WRONG_PHASE,
    Paused: error_pb2.REASON_PAUSED,
    TimerDue: error_pb2.REASON_TIMER_DUE,
    SeatTaken: error_pb2.REASON_SEAT_TAKEN,
    BadSignature: error_pb2.REASON_BAD_SIGNATURE,
}

#: What `translate` can tell apart from a defect.
EXPECTED = (ServiceError, EngineError, Malformed, Refused, StoreError)

__all__ = [
    "DOMAIN",
    "EXPECTED",
    "Contract",
    "LedgerFault",
    "Reason",
    "ServiceError",
    "bad_api_key",
    "bad_token",
    "contract",
    "foreign_seat",
    "illegal",
    "ledger_broken",
    "malformed",
    "no_spectators",
    "not_invited",
    "quota_exceeded",
    "rate_limited",
    "request_id_reused",
    "too_large",
    "translate",
    "unavailable",
    "unknown_match",
    "wrong_phase",
]
