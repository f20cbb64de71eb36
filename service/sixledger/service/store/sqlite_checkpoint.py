"""Checkpoints of the write-ahead log, on a thread of their own so that appends do not wait for them."""

from __future__ import annotations

import logging
import sqlite3
from queue import SimpleQueue
from threading import Thread

_log = logging.getLogger(__name__)


class Checkpointer:
    """Copies the log into the database after every `interval_bytes` or so of writing.

    Under steady load the writer is always some pages ahead, and a log of which a page is missing in
    the database cannot start anew: it would grow for ever. Once it is longer than `restart_bytes`
    the writer copies the short rest itself, between two of its transactions.

    A checkpoint begins only right after a commit and while no other runs. So it always finds pages to
    copy, and the log cannot be reset under it before it ends: that reset, by a commit during a second
    checkpoint that had nothing left to do, is how SQLite before 3.51.3 could corrupt a database
    (sqlite.org/wal.html#walresetbug).
    """

    def __init__(self, connection: sqlite3.Connection, *, interval_bytes: int, restart_bytes: int) -> None:
        self._connection = connection
        self._interval_bytes = interval_bytes
        self._restart_bytes = restart_bytes
        (self._page_size,) = connection.execute("PRAGMA page_size").fetchone()
        self._unchecked = 0
        self._running = False
        self._too_long = False
        #: False asks the thread to end.
        self._requests: SimpleQueue[bool] = SimpleQueue()
        self._thread = Thread(target=self._run, name="store-checkpoint", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    @property
    def is_busy(self) -> bool:
        """True while a checkpoint runs, and if the next commit will be followed by one of the writer."""
        return self._running or self._too_long

    def after_commit(self, writer: sqlite3.Connection, rows: int, record_bytes: int) -> None:
        """Take note of a commit of `rows` records. Only the writer calls it, outside a transaction."""
        # A record changes a page for its place and one for its idempotency key: an estimate is enough.
        self._unchecked += 2 * rows * self._page_size + record_bytes
        if self._running:
            return
        if self._too_long:
            self._too_long = False
            self._unchecked = 0
            self._checkpoint(writer)
        elif self._unchecked >= self._interval_bytes:
            self._unchecked = 0
            self._running = True
            self._requests.put(True)

    def stop(self) -> None:
        """Block until the checkpoint that runs has ended, and end the thread."""
        self._requests.put(False)
        self._thread.join()

    def _run(self) -> None:
        while self._requests.get():
            frames = self._checkpoint(self._connection)
            self._too_long = frames * self._page_size > self._restart_bytes
            self._running = False

    def _checkpoint(self, connection: sqlite3.Connection) -> int:
        """Copy what no reader prevents; the length of the log in pages."""
        try:
            _, frames, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except sqlite3.Error as error:
            # The log keeps everything, a later checkpoint tries again.
            _log.warning("checkpoint of the store failed: %s", error)
            return 0
        return int(frames)
