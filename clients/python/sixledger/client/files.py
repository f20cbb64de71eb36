"""Small private files: written whole or not at all, readable by their owner alone."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path


def write_private(path: Path, text: str, *, durable: bool = True) -> None:
    """Replace `path` by a file with `text` and mode 0600, atomically.

    Unless `durable` is false it survives a crash of the machine; without, that may bring the older file back.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mkstemp makes it 0600
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if durable:
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


def make_private_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing, each for its owner alone whatever the umask."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)


def folder_fault(folder: Path) -> str:
    """Why a secret is not safe in a folder: anybody may put another file in its place; empty if it is."""
    if os.name != "posix":
        return ""
    mode = folder.stat().st_mode
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        return f"everybody can write in {folder}, and put another file in its place: chmod o-w it"
    return ""


def file_fault(path: Path) -> str:
    """Why a secret in a file may be known to others, or not be the owner's own; empty if nothing speaks for it."""
    if os.name != "posix":
        return ""
    owner, user = path.stat().st_uid, os.geteuid()
    if user not in (0, owner):
        return f"{path} belongs to another user"
    if readable_by_others(path):
        return f"{path} can be read by others: make it private with mode 0600, if nobody may have read it yet"
    return folder_fault(path.parent)
