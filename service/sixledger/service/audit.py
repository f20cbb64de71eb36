"""The audit log: who did what as an administrator, and when. docs/how-to/operate.md lists the acts.

A line of the log with the event `audit`, whatever the log level: an act that nobody can look up later has no
witness. It names keys, matches and seats by their ids; no secret, no token and no display name.
"""

from __future__ import annotations

import getpass
import sys
from typing import Any

import structlog
from sixledger.service.logs import PROCESSORS

#: Takes every line, whatever the log level.
_UNFILTERED = structlog.make_filtering_bound_logger(0)


def audit(act: str, *, by: str, **facts: str | int | list[str]) -> None:
    """Log that `by` (`key:ID`, `owner`, `seat:NUMBER`) has done `act`, which is durable, on a server."""
    structlog.wrap_logger(None, wrapper_class=_UNFILTERED).info("audit", act=act, by=by, **facts)


def audit_here(act: str, **facts: str | int | list[str]) -> None:
    """As `audit`, for an act at the store itself by whoever runs this process: on the standard error."""
    logger: Any = structlog.BytesLogger(sys.stderr.buffer)
    wrapped = structlog.wrap_logger(logger, processors=PROCESSORS, wrapper_class=_UNFILTERED)
    wrapped.info("audit", act=act, by=f"user:{_user()}", **facts)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container may run under a number without a name
        return "unknown"
