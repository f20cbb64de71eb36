"""From a failed gRPC call to the exception of its reason: the one place that reads statuses."""

from __future__ import annotations

from typing import Any

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status
from sixledger.client.errors import (
    BY_REASON,
    DOMAIN,
    ClientError,
    IllegalCommand,
    ServiceError,
    TransportError,
    Violation,
)
from sixledger.v1 import error_pb2

_REASONS = frozenset(error_pb2.Reason.values())


def from_rpc_error(error: grpc.RpcError) -> ClientError:
    """The exception for a failed call, of either kind of channel."""
    call: Any = error
    code = call.code().name
    status = _status(call)
    info = _detail(status, error_details_pb2.ErrorInfo)
    if info is None or info.domain != DOMAIN:
        return TransportError(code, call.details() or "no details")
    bad_request = _detail(status, error_details_pb2.BadRequest)
    violations = [
        Violation(each.field, each.description) for each in (bad_request.field_violations if bad_request else ())
    ]
    retry = _detail(status, error_details_pb2.RetryInfo)
    kind = BY_REASON.get(info.reason, ServiceError)
    found = kind(
        call.details() or "",
        reason=info.reason,
        metadata=info.metadata,
        violations=violations,
        retry_after=retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9 if retry is not None else 0.0,
    )
    if isinstance(found, IllegalCommand):
        _attach(found, status)
    return found


def from_failure(failure: error_pb2.Failure) -> ServiceError:
    """The exception for one item of a call that goes on."""
    reason = error_pb2.Reason.Name(failure.reason).removeprefix("REASON_") if failure.reason in _REASONS else "UNKNOWN"
    violations = [Violation(each.field, each.description) for each in failure.violations]
    kind = BY_REASON.get(reason, ServiceError)
    found = kind(
        failure.message,
        reason=reason,
        metadata=failure.metadata,
        violations=violations,
        retry_after=failure.retry_after_ms / 1000,
    )
    if isinstance(found, IllegalCommand):
        found.rule = found.metadata.get("rule", "")
        if failure.HasField("illegal_command"):
            detail = failure.illegal_command
            found.rule = detail.rule or found.rule
            found.command, found.view = detail.command, detail.view
    return found


def _status(call: Any) -> status_pb2.Status | None:
    """The google.rpc.Status of a failed call; None if it carries none that can be read."""
    try:
        status: status_pb2.Status | None = rpc_status.from_call(call)
    except (ValueError, DecodeError):
        return None
    return status


def _detail(status: status_pb2.Status | None, kind: Any) -> Any:
    """The first detail of this type; None if there is none."""
    for packed in status.details if status is not None else ():
        if packed.Is(kind.DESCRIPTOR):
            detail = kind()
            packed.Unpack(detail)
            return detail
    return None


def _attach(error: IllegalCommand, status: status_pb2.Status | None) -> None:
    detail = _detail(status, error_pb2.IllegalCommandDetail)
    error.rule = error.metadata.get("rule", "")
    if detail is not None:
        error.rule = detail.rule or error.rule
        error.command, error.view = detail.command, detail.view
