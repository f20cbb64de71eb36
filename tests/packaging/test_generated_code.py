"""The committed code of the schema: current, and within what is declared."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version
from support.wheel import ROOT, call

GENERATED = sorted((ROOT / "protos/python/sixledger").rglob("*_pb2.py"))
STUBS = sorted((ROOT / "protos/python/sixledger").rglob("*_pb2_grpc.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def declared(requirements: list[str], name: str) -> Requirement:
    """The requirement of `name`."""
    return next(found for line in requirements if (found := Requirement(line)).name == name)


def stated(files: list[Path], pattern: str) -> set[str]:
    """What the one group of `pattern` matches in `files`; every file must match."""
    return {re.findall(pattern, path.read_text(), re.MULTILINE)[0] for path in files}


def test_generated_code_is_current() -> None:
    call(sys.executable, ROOT / "protos/generate.py", "--check")


def test_messages_come_from_a_protobuf_that_the_declared_range_accepts() -> None:
    """A runtime accepts code of its own major version, not newer than itself, and of the one before."""
    stated = {
        re.findall(r"^# Protobuf Python Version: (\S+)$", path.read_text(), re.MULTILINE)[0] for path in GENERATED
    }
    assert len(stated) == 1, "one generator for all files"
    code = Version(stated.pop())
    allowed = declared(PROJECT["dependencies"], "protobuf").specifier
    floor = min(Version(part.version) for part in allowed if part.operator == ">=")
    ceiling = max(Version(part.version) for part in allowed if part.operator == "<")
    assert code <= floor
    assert code.major == floor.major
    assert ceiling.major <= code.major + 2


def test_service_stubs_come_from_the_oldest_declared_grpcio() -> None:
    """A stub refuses a grpcio older than its generator."""
    allowed = declared(PROJECT["optional-dependencies"]["client"], "grpcio").specifier
    assert stated(STUBS, r"^GRPC_GENERATED_VERSION = '(\S+)'$") == {
        part.version for part in allowed if part.operator == ">="
    }
