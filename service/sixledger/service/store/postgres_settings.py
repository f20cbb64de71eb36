"""How a PostgreSQL store works."""

from __future__ import annotations

from dataclasses import dataclass, field

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class PostgresSettings:
    """How a PostgresStore works. The defaults suit a server whose database is near."""

    #: Appends that share a statement, at most. 1: each has its own.
    max_batch: int = 512
    #: Bytes of records that share a statement, at most; a single longer one goes alone.
    max_batch_bytes: int = 8 * _MIB
    #: Connections for reading, at most. One more writes, and one more carries wake-ups.
    readers: int = 4
    #: Seconds for making a connection.
    connect_timeout_s: float = 5.0
    #: Seconds after which the database gives a statement up.
    statement_timeout_s: float = 10.0
    #: Seconds for which a write or a read waits for a database that has gone, before it fails.
    retry_s: float = 5.0
    #: Tell other processes of appends, and listen to them. Without, they find out when they look.
    wakeups: bool = True
    #: Seconds between two looks for tokens that other processes have made worthless.
    floor_tick_s: float = 0.5
    #: Bring the tables up to date when the store is opened. Without, a store whose tables are old is not opened.
    migrate: bool = False
    #: Refuse a database that commits without a synchronous standby.
    require_synchronous_standby: bool = False
    #: URL that leads past a pooler in transaction mode, for what needs a session of its own; empty: there is no such
    #: pooler. May hold a password.
    direct: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if not 1 <= self.max_batch <= 10_000:
            raise ValueError(f"max_batch must be between 1 and 10000, not {self.max_batch}")
        if not 1 <= self.readers <= 1000:
            raise ValueError(f"readers must be between 1 and 1000, not {self.readers}")
        for name in ("connect_timeout_s", "statement_timeout_s", "floor_tick_s"):
            if not 0.01 <= getattr(self, name) <= 3600:
                raise ValueError(f"{name} must be between 0.01 and 3600 seconds")
        if not 0 <= self.retry_s <= 3600:
            raise ValueError("retry_s must be between 0 and 3600 seconds")
