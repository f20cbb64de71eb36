"""The files of deploy/, read for their tests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml
from sixledger.service.config import PREFIX, Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def load(path: str) -> Any:
    """A YAML or JSON file of deploy/."""
    text = (DEPLOY / path).read_text(encoding="utf-8")
    return json.loads(text) if path.endswith(".json") else yaml.safe_load(text)


def settings_of(variables: Mapping[str, str]) -> Settings:
    """The settings of a server with these variables. Fails if one is no setting, and would be ignored."""
    known = {f"{PREFIX}{field.name.upper()}" for field in fields(Settings)}
    unknown = {name for name in variables if name.startswith(PREFIX)} - known
    assert not unknown, f"no such settings: {unknown}"
    return Settings.from_environment(variables)


def instructions() -> Iterator[tuple[str, str]]:
    """The instructions of the Dockerfile, in order, each in one line."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _, rest = line.partition(" ")
        yield name, " ".join(rest.split())
