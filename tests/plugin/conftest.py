"""The example game, built and installed as anybody's game is: a wheel beside Sixledger, found by its entry point."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.command_line import Ran, environment
from support.wheel import call, uv

SOURCE = Path(__file__).parent / "ranks"
SCRIPTS = Path(__file__).parent / "scripts"


def install(wheel: Path, target: Path) -> None:
    """Install a wheel without its dependencies into a folder, with uv or pip, whichever is here."""
    if found := uv():
        call(found, "pip", "install", "--quiet", "--no-deps", "--python", sys.executable, "--target", target, wheel)
        return
    python = Path(sys.executable)
    if find_spec("pip") is None:
        call(sys.executable, "-m", "venv", target.parent / "pip")
        python = target.parent / "pip" / "bin" / "python"
    options = ("--quiet", "--disable-pip-version-check", "--no-index", "--no-deps")
    call(python, "-m", "pip", "install", *options, "--target", target, wheel)


@dataclass(frozen=True)
class Installed:
    """An installation of Sixledger that has the example game too."""

    site: Path
    folder: Path

    @property
    def env(self) -> dict[str, str]:
        """The environment in which the game is found."""
        return environment(self.folder) | {"PYTHONPATH": str(self.site)}

    def python(self, *arguments: str | Path, typed: str = "", plugin: bool = True) -> Ran:
        """Run Python there; without `plugin` as if the game had never been installed."""
        env = self.env if plugin else environment(self.folder)
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            input=typed,
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=self.folder,
            env=env,
            timeout=120,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def sixledger(self, *arguments: str | Path, typed: str = "", plugin: bool = True) -> Ran:
        """Run a command of Sixledger."""
        return self.python("-m", "sixledger.cli.main", *arguments, typed=typed, plugin=plugin)

    def script(self, name: str, *arguments: str | Path) -> str:
        """What a script beside the tests prints; it must succeed."""
        ran = self.python(SCRIPTS / name, *arguments)
        assert ran.status == 0, ran.err
        return ran.out

    @contextmanager
    def serving(self) -> Iterator[str]:
        """A server, as a process of its own; its address."""
        with subprocess.Popen(
            [sys.executable, "-m", "sixledger.cli.main", "serve", "--listen", "127.0.0.1:0", "--origin", "ranks.test"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=self.env | {"COLUMNS": "200"},
            cwd=self.folder,
        ) as process:
            assert process.stdout is not None
            try:
                lines = iter(process.stdout.readline, "")
                yield next(line.split()[-1] for line in lines if line.startswith("listening on"))
            finally:
                process.terminate()
                process.wait()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the wheel of the example is installed."""
    folder = tmp_path_factory.mktemp("plugin")
    source = shutil.copytree(SOURCE, folder / "source", ignore=shutil.ignore_patterns("__pycache__"))
    call(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, source)
    (wheel,) = folder.glob("*.whl")
    install(wheel, folder / "site")
    return folder / "site"


@pytest.fixture
def installed(site: Path, tmp_path: Path) -> Installed:
    """Sixledger with the example game, and an empty folder to work in."""
    return Installed(site, tmp_path)
