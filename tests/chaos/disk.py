"""A disk that can be filled: a small tmpfs where one may be mounted, else a limit on the size of files."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Disk:
    """A small file system that can be filled, or where none may be mounted, a limit on the size of files."""

    folder: Path
    #: True: a tmpfs of its own.
    mounted: bool

    @property
    def kind(self) -> str:
        """In words."""
        return "a small tmpfs" if self.mounted else "RLIMIT_FSIZE"

    def fill(self) -> None:
        """Leave no byte. Only of a disk of our own."""
        if not self.mounted:
            raise ValueError("this would fill the disk of the machine")
        with (self.folder / "ballast").open("ab", buffering=0) as ballast, contextlib.suppress(OSError):
            size = 1 << 20
            while size:
                try:
                    ballast.write(bytes(size))
                except OSError:
                    size //= 2

    def free(self) -> None:
        """Give the room back."""
        (self.folder / "ballast").unlink(missing_ok=True)


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Disk]:
    """A tmpfs on `folder` if that is permitted here."""
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0755", "sixledger-chaos", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    try:
        yield Disk(folder, mounted)
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], capture_output=True, check=False)
