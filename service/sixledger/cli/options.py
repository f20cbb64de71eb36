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
    if field.is_repeated:
        return f"[{','.join(_spell_one(field, each) for each in value)}]"
    return _spell_one(field, value)


def _spell_one(field: Any, value: Any) -> str:
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
    texts = _items(value) if field.is_repeated else [value]
    try:
        contents = [_read(field, text) for text in texts]
        options.ClearField(name)
        json_format.ParseDict({name: contents if field.is_repeated else contents[0]}, options)
    except (KeyError, ValueError, json_format.ParseError):
        raise wrong from None


def _items(value: str) -> list[str]:
    """The items of a list, given as `[9,14]` or `9,14`."""
    inner = value[1:-1] if value.startswith("[") and value.endswith("]") else value
    return [item.strip() for item in inner.split(",")] if inner.strip() else []


def _read(field: Any, text: str) -> Any:
    """One value as json_format takes it. Raises KeyError or ValueError."""
    if field.enum_type is not None:
        return {word: number for number, word in _names(field).items() if number}[text.lower()]
    if field.type in (FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_UINT64) and not re.fullmatch("[0-9]+", text):
        raise ValueError(text)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _names(field: Any) -> dict[int, str]:
    """The words of an enum, without the prefix that every value of it carries."""
    prefix = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", field.enum_type.name).upper() + "_"
    return {value.number: value.name.removeprefix(prefix).lower() for value in field.enum_type.values}


def _example(game: Game[Any]) -> str:
    if not game.option_docs:
        return "name=value"
    doc = game.option_docs[-1]
    return f"{doc.name}={doc.default}"
