"""Small private files: written whole or not at all, readable by their owner alone."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Replace `path` by a file with `text` and mode 0600, atomically and durably."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mkstemp makes it 0600
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` survive a crash, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def readable_by_others(path: Path) -> bool:
    """True if the mode lets anybody but the owner read or write the file."""
    return os.name == "posix" and bool(stat.S_IMODE(path.stat().st_mode) & 0o077)
