"""Time limits as people say them, and what time it is at the service, as far as its messages tell."""

from __future__ import annotations

import time
from collections.abc import Callable

from sixledger.ledger.clocks import MAX_LIMIT_US
from sixledger.v1 import record_pb2


def time_limits(
    *,
    turn: float = 0,
    bank: float = 0,
    increment: float = 0,
    join: float = 0,
    contribute: float = 0,
    reveal: float = 0,
    pause: float = 0,
    go_on_if_withheld: bool = False,
) -> record_pb2.Clock:
    """The time limits of a match, each in seconds; 0: none.

    `turn` for each time that a seat must act; `bank` for all acts of a seat together, to which each of its commands
    adds `increment`; `join` until the seats are closed, `contribute` for committing to the contributions, `reveal` for
    revealing them; `pause` for one pause. Raises ValueError for one that is negative or longer than 100 days.

    A match in which a seat does not contribute in time is aborted, and the seat named. With `go_on_if_withheld` it goes
    on without the contribution, if another seat contributes; the deal is then labelled as biasable by one bit for each
    seat that had committed and did not reveal.
    """
    given = {
        "turn": turn,
        "bank": bank,
        "increment": increment,
        "join": join,
        "contribute": contribute,
        "reveal": reveal,
        "pause": pause,
    }
    limits = {}
    for name, seconds in given.items():
        if not 0 <= seconds * 1_000_000 <= MAX_LIMIT_US:
            raise ValueError(f"{name} must be between 0 and {MAX_LIMIT_US // 1_000_000} seconds")
        limits[f"{name}_us"] = round(seconds * 1_000_000)
    withheld = record_pb2.WITHHELD_POLICY_GO_ON if go_on_if_withheld else None
    return record_pb2.Clock(**limits, withheld=withheld)


class ServiceTime:
    """The time at the service. Messages travel, so it is never ahead of the service by what it has learned."""

    def __init__(self, local: Callable[[], int] = time.monotonic_ns) -> None:
        """`local` gives nanoseconds that never run backwards."""
        self._local = local
        self._ahead_us: int | None = None

    def learn(self, time_us: int) -> None:
        """It was `time_us` there, or later, when a message that came just now was sent."""
        ahead = time_us - self._local() // 1000
        if self._ahead_us is None or ahead > self._ahead_us:
            self._ahead_us = ahead

    def now(self) -> int:
        """Microseconds since 1970-01-01 UTC; 0 if nothing is known."""
        return 0 if self._ahead_us is None else self._local() // 1000 + self._ahead_us
