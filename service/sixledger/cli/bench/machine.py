"""What the figures of a benchmark depend on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = ("sixledger", "protobuf", "grpcio", "uvloop", "asyncpg")


def machine() -> dict[str, Any]:
    """Processor, cores, system, Python and the versions of packages that matter; nothing that names the machine."""
    packages = {}
    for name in _PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": packages,
    }


def in_words(found: dict[str, Any]) -> str:
    """A line of it."""
    packages = ", ".join(f"{name} {number}" for name, number in found["packages"].items())
    return f"{found['processor']}, {found['cores']} cores, {found['system']}; {found['python']}, {packages}"


def _processor() -> str:
    """The name of the processor, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.startswith("model name"):
            return " ".join(line.partition(":")[2].split())
    return platform.processor() or platform.machine()
