"""Options of a game on the command line: `--preset NAME` and `--option name=value`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter
from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from sixledger.cli.failures import unusable
from sixledger.engine.game import Game, Setup
from sixledger.engine.registry import installed

#: The parameters as every command declares them.
PresetName = Annotated[str | None, Parameter(help="A named set of options; `sixledger games show NAME` lists them.")]
OptionList = Annotated[
    list[str] | None,
    Parameter("--option", negative="", help="An option of the game as name=value. May be repeated."),
]


def find_game(name: str) -> Game[Any]:
    """The newest version of a game. Raises UnknownGame."""
    return installed().latest(name)


def build(game: Game[Any], seats: int, preset: str | None, given: Sequence[str] | None) -> Setup:
    """The complete setup. Raises Failure or IllegalOptions; both say what is allowed."""
    options = game.schema.options.kind()
    if preset is not None:
        if preset not in game.presets:
            raise unusable(f"{game.id} has no preset {preset!r}; allowed: {', '.join(game.presets)}")
        options.CopyFrom(game.presets[preset].options)
    for item in given or ():
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise unusable(f"option {item!r} must look like name=value, for example {_example(game)}")
        _set(game, options, name.strip().replace("-", "_"), value.strip())
    return game.complete(seats, options)


def spell(field: Any, value: Any) -> str:
    """The value of an option as it is given on the command line."""
    if field.enum_type is not None:
        return _names(field)[value]
    if field.message_type is not None:
        return json_format.MessageToJson(value, indent=None)
    return str(value).lower() if isinstance(value, bool) else str(value)


def spell_all(options: Any) -> dict[str, str]:
    """Every option that is set, by name, as it is given on the command line."""
    return {field.name: spell(field, value) for field, value in options.ListFields()}


def _set(game: Game[Any], options: Any, name: str, value: str) -> None:
    fields = type(options).DESCRIPTOR.fields_by_name
    if name not in fields:
        raise unusable(f"{game.id} has no option {name!r}; allowed: {', '.join(fields)}")
    field = fields[name]
    allowed = next((doc.values for doc in game.option_docs if doc.name == name), "see the rules")
    wrong = unusable(f"option {name}: {value!r} cannot be used; allowed: {allowed}")
    if field.enum_type is not None:
        numbers = {word: number for number, word in _names(field).items() if number}
        if value.lower() not in numbers:
            raise wrong
        setattr(options, name, numbers[value.lower()])
        return
    if field.type in (FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_UINT64) and not re.fullmatch("[0-9]+", value):
        raise wrong
    try:
        content = json.loads(value)
    except ValueError:
        content = value
    try:
        json_format.ParseDict({name: content}, options)
    except json_format.ParseError:
        raise wrong from None


def _names(field: Any) -> dict[int, str]:
    """The words of an enum, without the prefix that every value of it carries."""
    prefix = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", field.enum_type.name).upper() + "_"
    return {value.number: value.name.removeprefix(prefix).lower() for value in field.enum_type.values}


def _example(game: Game[Any]) -> str:
    if not game.option_docs:
        return "name=value"
    doc = game.option_docs[-1]
    return f"{doc.name}={doc.default}"
