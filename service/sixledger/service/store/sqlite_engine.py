"""The threads and connections of a SQLite store: one writer, some readers, checkpoints on their own."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TypeAlias, TypeVar

from sixledger.service.store.base import Appended, AppendResult, StoreError
from sixledger.service.store.group_commit import GroupCommit
from sixledger.service.store.sqlite_archive import Leave, Return
from sixledger.service.store.sqlite_checkpoint import Checkpointer
from sixledger.service.store.sqlite_lock import FileLock
from sixledger.service.store.sqlite_reader import Reader
from sixledger.service.store.sqlite_schema import LOCK_TIMEOUT_S, check_library, connect, create_file, prepare
from sixledger.service.store.sqlite_settings import SqliteSettings
from sixledger.service.store.sqlite_writer import Aside, BatchWriter, Job

#: What the writer can be asked for.
AnyJob: TypeAlias = Job | Aside | Leave | Return

T = TypeVar("T")

_log = logging.getLogger(__name__)


class SqliteEngine:
    """The threads and connections of an open store."""

    def __init__(self, path: Path, settings: SqliteSettings, flushed: Callable[[int, float], None]) -> None:
        self._path = path
        self._settings = settings
        self._resources = ExitStack()
        self._idle: list[Reader] = []
        self.commits: GroupCommit[AnyJob, AppendResult] = GroupCommit(
            self._write,
            max_jobs=settings.max_batch,
            max_bytes=settings.max_batch_bytes,
            wrote=flushed,
            write_at_once=self._write_at_once,
        )
        #: Whether the writer waits for locks of other programs.
        self._patient = True
        self.threads = ThreadPoolExecutor(settings.readers, "store-reader")

    def start(self) -> None:
        """Lock, connect, create or check the tables, start the threads. Blocks; raises StoreError."""
        check_library()
        try:
            # What was opened is closed in reverse: readers first, so that the writer's last checkpoint is complete.
            with ExitStack() as resources:
                self._connect(resources)
                self._resources = resources.pop_all()
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"cannot open the store {self._path}: {error}") from error
        self._checkpointer.start()
        self.commits.start()

    def _connect(self, resources: ExitStack) -> None:
        settings = self._settings
        path = self._path.resolve()  # one file, one lock, by whatever name
        resources.callback(FileLock(path).release)
        create_file(path)
        self._connection = connect(path, cache_kib=settings.cache_bytes // 1024, writes=True)
        resources.callback(self._close_writer)
        prepare(self._connection, path)
        if settings.max_database_bytes is not None:
            (page_size,) = self._connection.execute("PRAGMA page_size").fetchone()
            self._connection.execute(f"PRAGMA max_page_count = {settings.max_database_bytes // page_size:d}")
        self._writer = BatchWriter(self._connection)
        checkpoints = connect(path, cache_kib=2048)
        resources.callback(checkpoints.close)
        self._checkpointer = Checkpointer(
            checkpoints, interval_bytes=settings.checkpoint_bytes, restart_bytes=settings.wal_restart_bytes
        )
        for _ in range(settings.readers):
            connection = connect(path, cache_kib=8192)
            resources.callback(connection.close)
            self._idle.append(Reader(connection))

    def stop(self) -> None:
        """Finish the appends and reads that were taken, and close everything. Blocks."""
        self.commits.refuse()
        self.commits.join()
        self.threads.shutdown()
        self._checkpointer.stop()
        self._resources.close()

    def read(self, query: Callable[[Reader], T]) -> T:
        """Run a query on a free connection; there is one for each thread."""
        reader = self._idle.pop()
        try:
            return query(reader)
        finally:
            self._idle.append(reader)

    @property
    def floors(self) -> Mapping[tuple[bytes, int], int]:
        """Floors of tokens by match id and seat, as they are now."""
        return self._writer.floors

    def _write_at_once(self, jobs: Sequence[AnyJob]) -> list[AppendResult] | None:
        """Write in no more time than a commit takes; None if it could take longer. Raises if the database is locked."""
        # A checkpoint, of others or to come, keeps the disk busy; and records in an archive can be many.
        if self._checkpointer.is_busy or any(isinstance(job, Leave | Return) for job in jobs):
            return None
        self._wait_for_locks(wait=False)
        return self._commit(jobs)

    def _write(self, jobs: Sequence[AnyJob]) -> list[AppendResult]:
        self._wait_for_locks(wait=True)
        return self._commit(jobs)

    def _wait_for_locks(self, *, wait: bool) -> None:
        """Let the writer wait for locks, as it may on its thread, or not."""
        if wait != self._patient:
            self._connection.execute(f"PRAGMA busy_timeout = {LOCK_TIMEOUT_S * 1000 if wait else 0:d}")
            self._patient = wait

    def _commit(self, jobs: Sequence[AnyJob]) -> list[AppendResult]:
        results = self._writer.write_all(jobs)
        rows = sum(isinstance(result, Appended) for result in results)
        if rows:
            size = sum(len(job.entry.record) if isinstance(job, Job) else 200 for job in jobs)
            self._checkpointer.after_commit(self._connection, rows, size)
        return results

    def _close_writer(self) -> None:
        try:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as error:
            # Nothing is lost: the log stays, and who opens the store next reads it.
            _log.warning("the last checkpoint of the store failed: %s", error)
        finally:
            self._connection.close()
