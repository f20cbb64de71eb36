"""Games by id and version."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from sixledger.annotations.v1 import visibility_pb2
from sixledger.engine import registry, visibility
from sixledger.engine.errors import BrokenGame, UnknownGame
from sixledger.engine.nimmt import GAME
from sixledger.engine.nimmt.game import Nimmt
from sixledger.engine.registry import Registry, check, installed


class Second(Nimmt):
    """A later version."""

    version = 2


def test_6_nimmt_is_installed() -> None:
    assert installed().latest("nimmt") is GAME
    assert installed().get("nimmt", 1) is GAME


def test_new_matches_get_the_newest_version_and_old_ones_their_own() -> None:
    second = Second()
    registry = Registry([second, GAME])
    assert registry.latest("nimmt") is second
    assert registry.get("nimmt", 1) is GAME
    assert registry.offered() == [second]
    assert registry.all() == [GAME, second]


def test_an_unknown_game_is_answered_with_those_there_are() -> None:
    with pytest.raises(UnknownGame, match="no game 'chess' here; there are: nimmt"):
        Registry([GAME]).latest("chess")
    with pytest.raises(UnknownGame, match="no ruleset nimmt@9 here; there are: nimmt@1"):
        Registry([GAME]).get("nimmt", 9)


def test_two_games_cannot_share_a_name() -> None:
    with pytest.raises(ValueError, match="nimmt@1"):
        Registry([GAME, Nimmt()])


# -- games of other distributions ----------------------------------------------------------------


@pytest.fixture
def entry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Lets the registry find one entry point alone."""

    def find(value: str) -> Registry:
        found = [EntryPoint("mine", value, registry.GROUP)]
        monkeypatch.setattr(registry, "entry_points", lambda group: found if group == registry.GROUP else [])
        installed.cache_clear()
        return installed()

    yield find
    installed.cache_clear()


def make_game() -> Nimmt:
    """What an entry point may name instead of a game."""
    return Second()


def test_an_entry_point_names_a_game_or_a_function_that_makes_one(entry: Any) -> None:
    assert entry("sixledger.engine.nimmt:GAME").all() == [GAME]
    assert [game.version for game in entry(f"{__name__}:make_game").all()] == [2]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("no_such_package:GAME", "ModuleNotFoundError"),
        ("sixledger.engine.nimmt:CHESS", "AttributeError"),
        ("sixledger.engine.nimmt.cards:HIGHEST", "a int is no Game"),
        ("builtins:dict", "a dict is no Game"),
    ],
)
def test_a_game_that_cannot_be_loaded_is_named_with_the_reason(entry: Any, value: str, reason: str) -> None:
    with pytest.raises(BrokenGame, match=f"the game 'mine' of an unknown distribution cannot be used: .*{reason}"):
        entry(value)


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ({"id": "Six Nimmt"}, "does not match"),
        ({"version": 0}, "a version from 1 on"),
        ({"digest": b"short"}, "a digest of 32 bytes"),
        ({"max_seats": 65}, "1 to 64 seats"),
        ({"min_seats": 11}, "1 to 64 seats"),
    ],
)
def test_a_game_must_fit_into_records(broken: dict[str, Any], reason: str) -> None:
    with pytest.raises(BrokenGame, match=reason):
        check(type("Broken", (Nimmt,), broken)())


def test_every_installed_game_fits() -> None:
    for game in installed().all():
        assert check(game) is game


def message_type(name: str, *fields: tuple[str, int, Any]) -> Any:
    """A message type with annotated fields: name, type and visibility."""
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{name}.proto",
        package=f"broken.{name}",
        syntax="proto3",
        dependency=["sixledger/annotations/v1/visibility.proto"],
    )
    message = file.message_type.add(name="Broken")
    for number, (field, kind, shown) in enumerate(fields, 1):
        added = message.field.add(name=field, number=number, type=kind, label=1)
        added.options.Extensions[visibility_pb2.visibility] = shown
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"broken.{name}.Broken"))


def test_a_secret_of_a_seat_needs_its_seat_and_numbers_need_one_spelling() -> None:
    uint32, double = descriptor_pb2.FieldDescriptorProto.TYPE_UINT32, descriptor_pb2.FieldDescriptorProto.TYPE_DOUBLE
    seatless = message_type("seatless", ("card", uint32, visibility.SEAT))
    visibility.check(seatless, event=False)  # a command is of the seat that gives it
    with pytest.raises(visibility.VisibilityError, match="no public field `seat`"):
        visibility.check(seatless, event=True)
    floating = message_type("floating", ("odds", double, visibility.PUBLIC))
    with pytest.raises(visibility.VisibilityError, match="odds: floats and maps"):
        visibility.check(floating, event=True)
