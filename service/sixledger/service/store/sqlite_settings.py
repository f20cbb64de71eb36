"""How a SQLite store works."""

from __future__ import annotations

from dataclasses import dataclass

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class SqliteSettings:
    """How a SqliteStore works. The defaults suit a server of one process."""

    #: Appends that share a transaction, at most. 1: each has its own.
    max_batch: int = 512
    #: Bytes of records that share a transaction, at most; a single longer one goes alone.
    max_batch_bytes: int = 8 * _MIB
    #: Connections, and threads, for reading.
    readers: int = 2
    #: Page cache of the writer.
    cache_bytes: int = 64 * _MIB
    #: Bytes written between two checkpoints, roughly.
    checkpoint_bytes: int = 16 * _MIB
    #: Length of the write-ahead log from which the writer helps to start it anew.
    wal_restart_bytes: int = 64 * _MIB
    #: Size that the database may have at most; beyond it appends fail as if the disk were full.
    max_database_bytes: int | None = None

    def __post_init__(self) -> None:
        # SQLite takes 32766 parameters in a statement, and one looks up four for each append.
        if not 1 <= self.max_batch <= 4096:
            raise ValueError(f"max_batch must be between 1 and 4096, not {self.max_batch}")
        if self.readers < 1:
            raise ValueError(f"readers must be at least 1, not {self.readers}")
