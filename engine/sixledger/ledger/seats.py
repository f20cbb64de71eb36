"""A seat of a match."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Seat:
    """A seat before and after it is taken."""

    joined: bool = False
    public_key: bytes = b""
    contributes: bool = False
    #: K, 32 bytes, once it is logged.
    commitment: bytes = b""
    #: 32 bytes, once it is logged.
    contribution: bytes = b""
    #: The operator plays the seat.
    hosted: bool = False
    #: The seat is ready to begin, where the table asks for it.
    ready: bool = False
    #: Number of the record with which the seat was taken.
    since: int = 0
    #: The match went on without what the seat owed to the randomness.
    withheld: bool = False

    def copy(self) -> Seat:
        """An independent copy."""
        return Seat(
            self.joined,
            self.public_key,
            self.contributes,
            self.commitment,
            self.contribution,
            self.hosted,
            self.ready,
            self.since,
            self.withheld,
        )
