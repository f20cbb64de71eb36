"""Finding a seat: at an open table if there is one, else at a new table."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from sixledger.cli.remote import with_deal_limits
from sixledger.client import Client
from sixledger.engine.game import Setup
from sixledger.v1 import match_service_pb2

_OPEN = match_service_pb2.MATCH_STATUS_OPEN
#: Open tables that are looked through, newest first.
_LIMIT = 200
#: Seconds between looks where no table may be opened.
LOOK_EVERY = 1.0


@dataclass(slots=True)
class Seeker:
    """Gives every game of one process a seat of its own. Safe from any thread."""

    client: Client
    game: str
    #: Size of the tables that are joined; None: any.
    seats: int | None
    #: How a table is opened; None: none is.
    setup: Setup | None
    #: The one table to sit at; None: any.
    match_id: bytes | None = None
    #: The one seat to take at it; None: any.
    seat: int | None = None
    #: What lets this process abort the tables that it opened, by match.
    owned: dict[bytes, str] = field(default_factory=dict, repr=False)
    _claimed: set[tuple[bytes, int]] = field(default_factory=set)
    _lock: Any = field(default_factory=Lock, repr=False)

    def find(self, stopped: Callable[[], bool]) -> tuple[bytes, int] | None:
        """A match and a free seat of it; None if there is none at the one table, or once `stopped`.

        Somebody else may be faster and take the seat: then look again.
        """
        while not stopped():
            with self._lock:
                found = self._named() if self.match_id is not None else self._any()
                if found is not None:
                    self._claimed.add(found)
                    return found
            if self.match_id is not None:
                return None
            time.sleep(LOOK_EVERY)
        return None

    def _named(self) -> tuple[bytes, int] | None:
        assert self.match_id is not None, "asked for only then"
        return self._free(self.match_id)

    def _any(self) -> tuple[bytes, int] | None:
        for each in self.client.lobby.tables(game=self.game, limit=_LIMIT):
            if self.seats in (None, each.seats) and (found := self._free(each.match_id)) is not None:
                return found
        if self.setup is None:
            return None
        created = self.client.matches.create(
            self.game, seats=self.setup.seats, options=self.setup.options, clock=with_deal_limits()
        )
        self.owned[created.match_id] = created.owner_token
        return created.match_id, 0

    def _free(self, match_id: bytes) -> tuple[bytes, int] | None:
        """The first free seat of a match that waits for players."""
        info = self.client.matches.get(match_id).match
        if info.status != _OPEN:
            return None
        for number, seat in enumerate(info.seats):
            if not seat.joined and (match_id, number) not in self._claimed and self.seat in (None, number):
                return match_id, number
        return None
