"""The image: what the linter says of its recipe, what it promises, and that what it copies is enough to build."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

from sixledger.cli.main import COMMANDS
from support.deployment import DEPLOY, ROOT, instructions, settings_of


def last(name: str) -> str:
    return [rest for each, rest in instructions() if each == name][-1]


def test_the_linter_has_nothing_to_say() -> None:
    hadolint = Path(sysconfig.get_path("scripts")) / "hadolint"
    ran = subprocess.run([hadolint, DEPLOY / "Dockerfile"], capture_output=True, text=True, check=False, timeout=30)
    assert (ran.returncode, ran.stdout) == (0, "")


def test_it_is_built_in_stages_on_a_pinned_base_and_runs_as_a_user_with_a_number() -> None:
    bases = [rest.split()[0] for name, rest in instructions() if name == "FROM"]
    assert len(bases) == 2
    assert all(re.fullmatch(r"python:3\.\d+-slim-\w+", base) for base in bases)
    assert re.fullmatch(r"([1-9]\d*):([1-9]\d*)", last("USER"))
    assert last("STOPSIGNAL") == "SIGTERM"


def test_its_variables_are_settings_and_its_operator_port_is_not_for_everybody() -> None:
    variables = dict(pair.split("=", 1) for pair in shlex.split(last("ENV")))
    settings = settings_of(variables)
    assert settings.listen == "0.0.0.0:7655"
    assert settings.admin_listen == "127.0.0.1:9090"
    assert str(settings.data_dir) in last("VOLUME")


def test_its_health_check_asks_whether_the_server_takes_calls() -> None:
    command = json.loads(last("HEALTHCHECK").partition("CMD ")[2])
    assert command == ["sixledger", "health", "--ready", "127.0.0.1:9090"]
    assert {"health", "serve"} <= {name for name, *_ in COMMANDS}
    assert json.loads(last("ENTRYPOINT")) + json.loads(last("CMD")) == ["sixledger", "serve"]


def test_what_is_copied_is_enough_to_build_and_is_let_through(tmp_path: Path) -> None:
    copied = [rest.split() for name, rest in instructions() if name == "COPY" and not rest.startswith("--from")]
    sources = [source for *named, _ in copied for source in named]
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().split("\n")
    assert ignored[1] == "*"  # everything is left out but what is named
    assert {line[1:] for line in ignored if line.startswith("!")} == set(sources)
    for source in sources:
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, tmp_path / source, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, tmp_path / source)
    build = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(tmp_path / "dist"),
        str(tmp_path),
    ]
    subprocess.run(build, check=True, capture_output=True, timeout=120)
    assert len(list((tmp_path / "dist").glob("sixledger-*.whl"))) == 1


def test_what_is_installed_is_an_extra_of_ours() -> None:
    (extras,) = re.findall(
        r"pip install [^&]*'\.\[([\w,]+)\]'", " ".join(rest for name, rest in instructions() if name == "RUN")
    )
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {"cli", "postgres"} <= set(extras.split(",")) <= set(known)
