"""The right to use a SQLite store: one process at a time, by a lock on the file beside the database."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from sixledger.service.store.base import StoreInUse

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


class FileLock:
    """Holds `<database>.lock` until `release`; the system releases it if the process dies.

    The file stays: removing it would let two processes lock two files of one name.
    """

    def __init__(self, database: Path) -> None:
        path = database.with_name(database.name + ".lock")
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            self._lock(database)
        except BaseException:
            os.close(self._file)
            raise

    def _lock(self, database: Path) -> None:
        try:
            if sys.platform == "win32":
                # Far behind the number, which must stay readable: locks are mandatory there.
                os.lseek(self._file, 1 << 20, os.SEEK_SET)
                msvcrt.locking(self._file, msvcrt.LK_NBLCK, 1)
            else:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.lseek(self._file, 0, os.SEEK_SET)
            holder = os.read(self._file, 32).decode("ascii", "replace").strip() or "unknown"
            raise StoreInUse(
                f"{database} is in use by process {holder}: one process at a time may open it, stop that one first"
            ) from None
        os.lseek(self._file, 0, os.SEEK_SET)
        os.ftruncate(self._file, 0)
        with suppress(OSError):  # a full disk: the number only serves the message above
            os.write(self._file, b"%d\n" % os.getpid())

    def release(self) -> None:
        """Let the next one in."""
        os.close(self._file)
