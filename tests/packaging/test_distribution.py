"""The wheel is what users get: what it holds, and that it works where nothing else is installed."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from sixledger.engine.version import __version__
from support.wheel import ROOT, Distributions, Environment, resolve

FOLDERS = ["protos/python", "engine", "service", "clients/python"]
PACKAGES = ["engine", "ledger", "service", "cli", "client", "testing"]

IMPORT = """
import importlib, json, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""

INSTALLED = """
import json
from importlib.metadata import distributions
print(json.dumps(sorted(found.metadata["Name"].lower() for found in distributions())))
"""

STEP = """
import json
from sixledger.engine.chance import Chance
from sixledger.engine.game import Setup, run
from sixledger.engine.registry import installed

steps = {}
for game in installed().offered():
    chance, state = Chance.from_key(bytes(32)), game.blank()
    options = next(iter(game.presets.values())).options
    run(game, state, game.start(state, game.complete(game.min_seats, options), chance))
    before = game.decision(state)
    command = game.legal(state, before.seats[0])[0]
    events = run(game, state, game.play(state, before.seats[0], command, chance))
    steps[game.id] = [len(events), before.number]
print(json.dumps(steps))
"""

GAMES = """
import json
from importlib.metadata import entry_points
print(json.dumps({entry.name: entry.load().id for entry in entry_points(group="sixledger.games")}))
"""


def test_no_init_file_closes_the_namespace(built: Distributions) -> None:
    """PEP 420: an `__init__.py` in one `sixledger` folder would hide the other three."""
    assert [folder for folder in FOLDERS if (ROOT / folder / "sixledger/__init__.py").exists()] == []
    assert "sixledger/__init__.py" not in built.files


@pytest.mark.parametrize("package", PACKAGES)
def test_each_package_is_in_the_wheel_and_typed(built: Distributions, package: str) -> None:
    assert built.modules(f"sixledger.{package}")
    assert f"sixledger/{package}/py.typed" in built.files


def test_the_wheel_holds_every_source_file_and_nothing_else(built: Distributions) -> None:
    """Also the stubs and the .proto files beside the generated code; no tests, no caches."""
    roots = [f"{folder}/" for folder in [*FOLDERS, "protos"]]
    expected = {
        name.removeprefix(root) for name in built.sources for root in roots if name.startswith(f"{root}sixledger/")
    }
    held = {name for name in built.files if ".dist-info/" not in name}
    assert held == expected
    assert any(name.endswith("_pb2.pyi") for name in held)
    assert any(name.endswith(".proto") for name in held)


def test_rules_of_every_game_are_in_the_wheel(built: Distributions) -> None:
    rules = {name: size for name, size in built.files.items() if name.endswith("/rules.md")}
    games = [Path(name).parent.name for name in rules]
    declared = [path.parent.parent.name for path in (ROOT / "protos/sixledger/games").glob("*/v1/*.proto")]
    assert sorted(games) == sorted(declared)
    assert all(size > 0 for size in rules.values())


def test_the_migrations_of_the_postgresql_store_are_in_the_wheel(built: Distributions) -> None:
    folder = "sixledger/service/store/migrations/"
    held = sorted(name.removeprefix(folder) for name in built.files if name.startswith(folder))
    there = sorted(path.name for path in (ROOT / "service" / folder).glob("*.sql"))
    assert held == there
    assert held[0] == "0001_tables.sql"


def test_the_source_distribution_holds_what_is_needed_to_build_and_test(built: Distributions) -> None:
    expected = {"pyproject.toml", "LICENSE", "README.md", "Makefile", "CONTRIBUTING.md", "protos/generate.py"}
    assert expected | {"tests/support/wheel.py", "docs/index.md"} <= built.sources
    assert not [name for name in built.sources if "__pycache__" in name or name.startswith((".venv/", ".git/"))]


def test_metadata_states_version_license_and_python(built: Distributions) -> None:
    assert built.metadata["Version"] == __version__
    assert built.metadata["License-Expression"] == "Apache-2.0"
    assert built.metadata["Requires-Python"] == ">=3.11"
    base = {Requirement(line).name for line in built.metadata.get_all("Requires-Dist", []) if "extra ==" not in line}
    assert base == {"protobuf", "cryptography"}


def test_base_installation_holds_no_grpc(base: Environment) -> None:
    found = set(base.run(INSTALLED)) - {"pip", "setuptools"}
    assert {"sixledger", "protobuf", "cryptography"} <= found
    assert found <= {"sixledger", "protobuf", "cryptography", "cffi", "pycparser", "typing-extensions"}


@pytest.mark.parametrize("package", ["sixledger.engine", "sixledger.ledger"])
def test_engine_and_ledger_import_without_any_extra(base: Environment, built: Distributions, package: str) -> None:
    loaded = set(base.run(IMPORT, *built.modules(package)))
    assert "sixledger" in loaded
    assert "grpc" not in loaded


def test_engine_imports_no_cryptography(base: Environment, built: Distributions) -> None:
    assert "cryptography" not in base.run(IMPORT, *built.modules("sixledger.engine"))


def test_messages_import_without_any_extra(base: Environment, built: Distributions) -> None:
    """With the oldest and the newest protobuf of the declared range."""
    messages = built.modules("sixledger", "*_pb2.py")
    assert len(messages) == len(list((ROOT / "protos/sixledger").rglob("*.proto")))
    assert "grpc" not in base.run(IMPORT, *messages)


def test_every_game_takes_a_step_in_the_base_installation(base: Environment) -> None:
    steps = base.run(STEP)
    assert "nimmt" in steps
    assert all(events > 0 for events, _ in steps.values())


def test_entry_points_of_games_resolve(base: Environment) -> None:
    games = base.run(GAMES)
    assert "nimmt" in games
    assert all(name == game for name, game in games.items())


def test_everything_imports_with_all_extras(full: Environment, built: Distributions) -> None:
    modules = [name for name in built.modules("sixledger") if not name.endswith(".__main__")]
    assert "grpc" in full.run(IMPORT, *modules)


def test_command_line_says_what_it_can_do(full: Environment) -> None:
    said = full.script("sixledger", "--help")
    assert all(command in said for command in ["serve", "verify", "play"])


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_all_extras_resolve_to_binaries_on_every_python(built: Distributions, tmp_path: Path, python: str) -> None:
    versions = {name: Version(version) for name, version in resolve(tmp_path, python, built.requirement("all")).items()}
    assert Version("1.72.2") <= versions["grpcio"] < Version("1.80")
    assert Version("6.30.2") <= versions["protobuf"] < Version("7"), "grpcio's companions need protobuf below 7"
    for companion in ["grpcio-status", "grpcio-health-checking", "grpcio-reflection"]:
        assert Version("1.72.2") <= versions[companion] < Version("1.80")


def test_base_installation_may_use_a_newer_protobuf_than_the_service(built: Distributions, tmp_path: Path) -> None:
    version = Version(resolve(tmp_path, "3.13", built.requirement())["protobuf"])
    assert Version("7") <= version < Version("8")
