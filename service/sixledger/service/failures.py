"""Failures that end less than a call: an item of a stream, or of a batch. They say what a status would say.

`report` is the one place that turns an exception into a reason and logs it, for whole calls as well.
"""

from __future__ import annotations

import math
import secrets
import time
from typing import TYPE_CHECKING, Any

from sixledger.service.errors import ServiceError, translate
from sixledger.service.logs import Log, places
from sixledger.service.store import StoreError
from sixledger.v1 import error_pb2

if TYPE_CHECKING:
    from sixledger.service.metrics import Metrics

#: What a caller should wait at least before it tries a retryable call again.
RETRY_AFTER_MS = 100
_OPERATORS_BUSINESS = frozenset({"INTERNAL", "DATA_LOSS"})
#: As much of a text or a list as a failure repeats.
_MAX_MESSAGE, _MAX_DESCRIPTION, _MAX_VIOLATIONS = 1_000, 500, 10


class CallLog(Log):
    """Where failures of calls are logged, and counted if there are metrics."""

    def __init__(self, name: str, metrics: Metrics | None = None) -> None:
        """Log under `name`."""
        super().__init__(name)
        self.metrics = metrics


def report(log: CallLog, method: str, error: Exception, started: float) -> ServiceError:
    """The ServiceError of an exception in a call of `method`, logged. `started` is by time.perf_counter."""
    found = translate(error) or _defect()
    if log.metrics is not None:
        log.metrics.rejected(found.reason)
    fields: dict[str, Any] = {
        "method": method,
        "reason": found.contract.name,
        "code": found.contract.status,
        "ms": round((time.perf_counter() - started) * 1000, 1),
        **{key: found.metadata[key] for key in ("rule", "match", "incident") if key in found.metadata},
    }
    if found.contract.status in _OPERATORS_BUSINESS:
        # The types and places of the whole chain, never texts: a foreign exception's text may hold anything.
        cause: BaseException | None = error
        fields["errors"] = []
        while cause is not None:
            fields["errors"].append({"type": type(cause).__qualname__, "at": places(cause.__traceback__)})
            cause = cause.__cause__ or cause.__context__
        log.error("call_failed", **fields)
    elif isinstance(error, StoreError):
        log.error("call_failed", store=str(error), **fields)
    else:
        log.info("call_failed", **fields)
    return found


def failure(error: ServiceError) -> error_pb2.Failure:
    """The error as a message, with what the status of a failed call would hold."""
    made = error_pb2.Failure(
        reason=error.reason,
        message=error.message[:_MAX_MESSAGE],
        metadata=error.metadata,
        violations=[
            error_pb2.FieldViolation(field=field, description=text[:_MAX_DESCRIPTION])
            for field, text in error.violations[:_MAX_VIOLATIONS]
        ],
    )
    if error.contract.retryable or error.retry_after_s:
        made.retry_after_ms = math.ceil(error.retry_after_s * 1000) or RETRY_AFTER_MS
    if isinstance(error.detail, error_pb2.IllegalCommandDetail):
        made.illegal_command.CopyFrom(error.detail)
    return made


def _defect() -> ServiceError:
    """Nothing of a defect leaves the server but a number under which the operator finds it."""
    incident = secrets.token_hex(8)
    return ServiceError(
        error_pb2.REASON_INTERNAL, f"a defect of the service, incident {incident}", metadata={"incident": incident}
    )
