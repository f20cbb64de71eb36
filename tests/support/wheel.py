"""The built distributions, and virtual environments to install them in.

With uv where it is on the path, else with `venv` and pip: the same results, slower.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from email.message import Message
from email.parser import Parser
from functools import cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def call(*command: str | Path, cwd: Path | None = None) -> str:
    """What a command prints. Raises AssertionError with all it said if its exit status is not 0.

    It runs with the scripts of this interpreter's environment on the path, without PYTHONPATH.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', '')}"
    arguments = [str(part) for part in command]
    done = subprocess.run(arguments, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(arguments)}: status {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def uv() -> str | None:
    """Where uv is, if it is here."""
    return shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))


@dataclass(frozen=True)
class Distributions:
    """A wheel and the source distribution it was built from."""

    wheel: Path
    sdist: Path

    @classmethod
    def build(cls, folder: Path) -> Distributions:
        """Build both: the wheel from the unpacked source distribution, so each proves that it is complete."""
        call(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
        (wheel,) = folder.glob("*.whl")
        (sdist,) = folder.glob("*.tar.gz")
        return cls(wheel, sdist)

    @cached_property
    def files(self) -> dict[str, int]:
        """Size in bytes of every file in the wheel, by path."""
        with zipfile.ZipFile(self.wheel) as archive:
            return {entry.filename: entry.file_size for entry in archive.infolist() if not entry.is_dir()}

    @cached_property
    def sources(self) -> set[str]:
        """The files of the source distribution, relative to its one folder."""
        with tarfile.open(self.sdist) as archive:
            return {entry.name.partition("/")[2] for entry in archive.getmembers() if entry.isfile()}

    @cached_property
    def metadata(self) -> Message:
        """The METADATA of the wheel."""
        (path,) = [name for name in self.files if name.endswith(".dist-info/METADATA")]
        with zipfile.ZipFile(self.wheel) as archive:
            return Parser().parsestr(archive.read(path).decode())

    def modules(self, package: str, pattern: str = "*.py") -> list[str]:
        """The importable modules below `package` (dotted) whose file name matches `pattern`."""
        folder = package.replace(".", "/") + "/"
        paths = [Path(name) for name in self.files if name.startswith(folder) and Path(name).match(pattern)]
        return sorted(".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in paths)

    def requirement(self, extra: str = "") -> str:
        """The wheel as a requirement that installers take, with an extra."""
        return f"sixledger[{extra}] @ {self.wheel.as_uri()}" if extra else f"sixledger @ {self.wheel.as_uri()}"


class Environment:
    """A virtual environment that holds nothing but what was asked for."""

    def __init__(self, folder: Path, *requirements: str) -> None:
        """Create it and install `requirements`, binaries only."""
        self.folder = folder
        self.bin = folder / "bin"
        self.python = self.bin / "python"
        options = ["--quiet", "--only-binary", ":all:", *requirements]
        if found := uv():
            call(found, "venv", "--quiet", "--python", sys.executable, folder)
            call(found, "pip", "install", "--python", self.python, *options)
        else:
            call(sys.executable, "-m", "venv", folder)
            call(self.python, "-m", "pip", "install", "--disable-pip-version-check", *options)

    def run(self, code: str, *arguments: str) -> Any:
        """Run Python code there, isolated; what it prints is JSON."""
        return json.loads(call(self.python, "-I", "-c", code, *arguments, cwd=self.folder))

    def script(self, name: str, *arguments: str) -> str:
        """Run an installed console script there."""
        return call(self.bin / name, *arguments, cwd=self.folder)


def resolve(folder: Path, python: str, *requirements: str) -> dict[str, str]:
    """The versions that an installer on Linux would choose for a Python version, by name; installs nothing."""
    if found := uv():
        wanted = folder / f"requirements-{python}.in"
        wanted.write_text("\n".join(requirements))
        target = ["--python", sys.executable, "--python-version", python, "--python-platform", "linux"]
        target += ["--only-binary", ":all:"]
        lines = call(found, "pip", "compile", "--quiet", "--no-header", "--no-annotate", *target, wanted).splitlines()
        return dict(line.split("==") for line in lines if "==" in line)
    report = folder / f"report-{python}.json"
    target = ["--python-version", python, "--implementation", "cp", "--only-binary", ":all:", "--target", str(folder)]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
    call(*pip, "--report", report, *target, *requirements)
    chosen = json.loads(report.read_text())["install"]
    return {item["metadata"]["name"].lower(): item["metadata"]["version"] for item in chosen}
