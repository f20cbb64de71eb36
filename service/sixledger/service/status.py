"""From a domain error to a gRPC status with rich details (google.rpc.Status)."""

from __future__ import annotations

import math
from typing import Any

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status
from sixledger.service.errors import DOMAIN, ServiceError
from sixledger.v1 import error_pb2

#: Details travel in the trailers, of which clients accept 8 KiB by default, base64 included.
MAX_DETAILS_BYTES = 5_000
#: What a caller should wait at least before it tries a retryable call again.
RETRY_AFTER_MS = 100


def code(error: ServiceError) -> grpc.StatusCode:
    """The status code of an error."""
    return grpc.StatusCode[error.contract.status]


def rich_status(error: ServiceError) -> Any:
    """The `grpc.Status` of an error: message, ErrorInfo, and what else its reason has."""
    contract = error.contract
    message = error.message[:1_000]
    details: list[Message] = [error_details_pb2.ErrorInfo(reason=contract.name, domain=DOMAIN, metadata=error.metadata)]
    if error.violations:
        details.append(
            error_details_pb2.BadRequest(
                field_violations=[
                    error_details_pb2.BadRequest.FieldViolation(field=field, description=text[:500])
                    for field, text in error.violations[:10]
                ]
            )
        )
    if contract.retryable or error.retry_after_s:
        wait_ms = math.ceil(error.retry_after_s * 1000) or RETRY_AFTER_MS
        delay = duration_pb2.Duration(seconds=wait_ms // 1000, nanos=wait_ms % 1000 * 1_000_000)
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    if error.detail is not None:
        details.append(_fitting(error.detail, MAX_DETAILS_BYTES - len(message.encode())))
    status = status_pb2.Status(code=code(error).value[0], message=message)
    for detail in details:
        packed = any_pb2.Any()
        packed.Pack(detail)
        status.details.append(packed)
    return rpc_status.to_status(status)


def _fitting(detail: Message, room: int) -> Message:
    """The detail, without its view if it would not fit the trailers: the view can be asked for."""
    if isinstance(detail, error_pb2.IllegalCommandDetail) and detail.ByteSize() > room:
        detail = error_pb2.IllegalCommandDetail(rule=detail.rule)
    return detail
