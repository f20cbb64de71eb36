"""Scenarios: a position, commands and what must come of them, as TOML files that every game shares.

    game = "nimmt"
    [cards]                            # only if positions use the abbreviations below
    pack = 104                         # cards are the numbers 1 to 104; or a list of their codes, lowest first
    lowest = 2                         # with a number: the lowest card, if it is not 1
    twice = "all"                      # the cards that the pack has twice: a list of them, or all
    fields = ["hand", "pile", …]       # where they are

    [positions.some-name]              # a position for several scenarios
    players = 2
    …

    [[scenario]]
    id = "N-B6"
    fact = "a fifth card is no sixth"
    position = …                       # the name of one, or a table: the fields of the game's Position; a message
                                       # of one field may be given as the value of that field
    commands = ["0 select_card card=5", …]      # the seat, or "table", and the command
    events = ["...", "card_placed …"]  # of the last command; "..." stands for any number of events
    after = …                          # fields of the position afterwards; what is not named is not compared
    view_after = { viewer = 1, … }     # likewise of a view
    rejected = "not_in_hand"           # the last command breaks this rule …
    malformed = "card"                 # … or this field of it is malformed; neither may change anything

In lists of cards "3 more" stands for the three highest cards that appear nowhere else in the position, and
"rest" for all that are left over.
"""

from __future__ import annotations

import tomllib
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from google.protobuf.message import Message
from sixledger.engine.chance import Chance
from sixledger.engine.errors import IllegalCommand, MalformedCommand
from sixledger.engine.game import Game, run
from sixledger.engine.registry import installed
from support.text import CODES, read_command, show_event

FOLDER = Path(__file__).parents[1] / "scenarios"
_KNOWN = {"id", "fact", "cards", "position", "commands", "events", "after", "view_after", "rejected", "malformed"}


@dataclass(frozen=True)
class Scenario:
    """One scenario of a file."""

    game: Game[Any]
    cards: dict[str, Any]
    content: dict[str, Any]


def scenarios() -> list[Any]:
    """Every scenario of every file, as pytest parameters named by game and id."""
    found = []
    for path in sorted(FOLDER.glob("*/*.toml")):
        with path.open("rb") as file:
            content = tomllib.load(file)
        game = installed().latest(content["game"])
        for each in content["scenario"]:
            unknown = set(each) - _KNOWN
            assert not unknown, f"{path.name}: {each['id']} has unknown keys {unknown}"
            if isinstance(each["position"], str):
                each["position"] = content["positions"][each["position"]]
            cards = content.get("cards", {}) | each.get("cards", {})
            found.append(pytest.param(Scenario(game, cards, each), id=f"{game.id}/{path.stem}/{each['id']}"))
    return found


def check(scenario: Scenario) -> None:
    """Play a scenario and compare."""
    game, content = scenario.game, scenario.content
    state, chance = game.from_position(position(scenario)), Chance.from_key(b"scenario")
    *earlier, last = [command.split(" ", 1) for command in content["commands"]]
    for seat, text in earlier:
        run(game, state, game.play(state, _seat(seat), read_command(game, text), chance))
    before = game.position(state)
    refused, happened = {}, []
    try:
        given = game.play(state, _seat(last[0]), read_command(game, last[1]), chance)
        happened = [show_event(game, event) for event in run(game, state, given)]
    except IllegalCommand as error:
        refused = {"rejected": error.rule}
    except MalformedCommand as error:
        refused = {"malformed": error.field}
    assert refused == {key: content[key] for key in ("rejected", "malformed") if key in content}
    if refused:
        assert game.position(state) == before
    else:
        assert {"events", "after", "view_after"} & set(content), "the scenario expects nothing"
    if "events" in content:
        _compare_events(happened, content["events"])
    if "after" in content:
        _compare(game.position(state), content["after"], "position")
    if "view_after" in content:
        expected = dict(content["view_after"])
        _compare(game.view(state, expected.pop("viewer", None)), expected, "view")


def _seat(word: str) -> int | None:
    """The seat that gives a command; None: the table."""
    return None if word == "table" else int(word)


def position(scenario: Scenario) -> Any:
    """The position of a scenario, complete."""
    game, cards = scenario.game, scenario.cards
    written = scenario.content["position"]
    if cards:
        pack = _pack(cards)
        left = Counter(pack) - Counter(_cards(written, cards["fields"], pack))
        unused = deque(sorted(left.elements(), key=pack.index, reverse=True))
        written = _fill(_fill(written, unused, pack, rest=False), unused, pack, rest=True)
    kind = game.schema.position.kind
    result = json_format.ParseDict(_wrap(written, kind.DESCRIPTOR), kind())
    result.options.CopyFrom(game.complete(result.players, result.options).options)
    return result


def _pack(cards: dict[str, Any]) -> list[Any]:
    """The cards of a match, lowest first."""
    pack = cards["pack"]
    if not isinstance(pack, list):
        pack = list(range(cards.get("lowest", 1), pack + 1))
    twice = cards.get("twice", [])
    return [card for card in pack for _ in range(2 if twice == "all" or card in twice else 1)]


def _cards(written: Any, fields: list[str], pack: list[Any], inside: bool = False) -> Iterator[Any]:
    """Every card under a key that holds cards."""
    if isinstance(written, dict):
        for key, value in written.items():
            yield from _cards(value, fields, pack, inside or key in fields)
    elif isinstance(written, list):
        for value in written:
            yield from _cards(value, fields, pack, inside)
    elif inside and written in pack:
        yield written


def _fill(written: Any, unused: deque[Any], pack: list[Any], *, rest: bool) -> Any:
    """Put cards in place of "3 more" or "rest"; a list that got any is sorted."""
    if isinstance(written, dict):
        return {key: _fill(value, unused, pack, rest=rest) for key, value in written.items()}
    if not isinstance(written, list):
        return written
    got = False
    filled: list[Any] = []
    for value in written:
        if isinstance(value, str) and value.endswith(" more"):
            filled += [unused.popleft() for _ in range(int(value.removesuffix(" more")))]
            got = True
        elif value == "rest" and rest:
            filled += unused
            unused.clear()
            got = True
        else:
            filled.append(_fill(value, unused, pack, rest=rest))
    return sorted(filled, key=pack.index) if got and "rest" not in filled else filled


def _wrap(written: Any, descriptor: Any) -> Any:
    """Give every message of one field its field name back, and to every code its fields."""
    if isinstance(written, str) and descriptor.full_name in CODES:
        return json_format.MessageToDict(CODES[descriptor.full_name][1](written))
    if not isinstance(written, dict):
        return {descriptor.fields[0].name: written}
    result = {}
    for key, value in written.items():
        kind = descriptor.fields_by_name[key].message_type
        if kind is None:
            result[key] = value
        elif isinstance(value, list) and descriptor.fields_by_name[key].is_repeated:
            result[key] = [_wrap(each, kind) for each in value]
        else:
            result[key] = _wrap(value, kind)
    return result


def _compare_events(happened: list[str], expected: list[str]) -> None:
    """Every expected event in its place; "..." lets any number pass."""
    waiting = deque(happened)
    skipping = False
    for event in expected:
        if event == "...":
            skipping = True
            continue
        while skipping and waiting and waiting[0] != event:
            waiting.popleft()
        assert waiting, f"missing: {event}; happened: {happened}"
        assert waiting.popleft() == event, f"happened: {happened}"
        skipping = False
    assert skipping or not waiting, f"surplus: {list(waiting)}"


def _compare(found: Any, expected: Any, path: str) -> None:
    """The fields that `expected` names; lists element by element, `{}` for an element that may be anything."""
    if isinstance(expected, dict):
        for key, value in expected.items():
            if value == "absent":
                assert not found.HasField(key), f"{path}.{key} is set"
            else:
                _compare(getattr(found, key), _number(found, key, value), f"{path}.{key}")
    elif isinstance(found, Message) and found.DESCRIPTOR.full_name in CODES:
        _compare(CODES[found.DESCRIPTOR.full_name][0](found), expected, path)
    elif isinstance(found, Message):
        only = found.DESCRIPTOR.fields[0].name
        _compare(getattr(found, only), _number(found, only, expected), path)
    elif isinstance(expected, list):
        assert len(found) == len(expected), f"{path} is {list(found)}, expected {expected}"
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            _compare(one, other, f"{path}[{number}]")
    else:
        assert found == expected, f"{path} is {found!r}, expected {expected!r}"


def _number(found: Any, name: str, expected: Any) -> Any:
    """What is expected of a field, with the name of an enum value replaced by its number."""
    enum = found.DESCRIPTOR.fields_by_name[name].enum_type
    return enum.values_by_name[expected].number if enum is not None and isinstance(expected, str) else expected
