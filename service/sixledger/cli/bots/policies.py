"""From what `--policy` names to policies, with errors that say what to mend."""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from sixledger.cli.failures import Failure, one_line, unusable
from sixledger.engine.bots import Policy, bot, bots_for

#: How a policy must look.
SHAPE = "def choose(view, random): return one of the commands in view.legal"


@dataclass(frozen=True, slots=True)
class Mind:
    """A policy by its name. `make` gives the policy of one seat: a class is made anew for each, so it may remember."""

    name: str
    make: Callable[[], Policy]


def load(game_id: str, text: str | None) -> Mind:
    """The policy that `text` names: built in, or `module:attribute` from the current folder or an installed package.

    None is the best built-in one. Raises Failure.
    """
    known = bots_for(game_id)
    name = text if text is not None else list(known)[-1]
    if ":" not in name:
        if name not in known:
            hint = f"{', '.join(known)}, or module:function, for example my_bot:choose"
            raise unusable(f"there is no policy {name!r} for {game_id}; allowed: {hint}")
        policy = bot(game_id, name)
        return Mind(name, lambda: policy)
    module_name, _, attribute = name.partition(":")
    found = _find(_import(module_name, name), module_name, attribute)
    if inspect.isclass(found):
        try:
            _checked(found(), name)
        except Failure:
            raise
        except Exception as error:
            raise unusable(f"policy {name!r} cannot be made without arguments: {told(error)}") from error
        return Mind(name, lambda: _checked(found(), name))
    policy = _checked(found, name)
    return Mind(name, lambda: policy)


def _import(module_name: str, name: str) -> Any:
    """The module, looked for in the current folder first."""
    if module_name.endswith(".py") or not all(part.isidentifier() for part in module_name.split(".")):
        raise unusable(f"policy {name!r}: {module_name!r} is no name of a module; write my_bot:choose, not my_bot.py")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise unusable(f"policy {name!r}: there is no module {error.name}, neither here nor installed") from None
        raise Failure(
            f"policy {name!r}: {module_name} needs the package {error.name}, which is not installed"
        ) from None
    except Exception as error:
        raise Failure(f"policy {name!r}: {module_name} cannot be imported: {told(error)}") from error


def _find(module: Any, module_name: str, attribute: str) -> Any:
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            names = [each for each, value in vars(module).items() if callable(value) and not each.startswith("_")]
            near = get_close_matches(part, names, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(sorted(names)) or 'no functions'}"
            raise unusable(f"{module_name} has no {attribute!r}; {hint}")
        found = getattr(found, part)
    return found


def _checked(found: Any, name: str) -> Policy:
    """`found`, if it can be called as a policy is."""
    if not callable(found):
        raise unusable(f"policy {name!r} is a {type(found).__name__}, not a function; it must be like: {SHAPE}")
    if inspect.iscoroutinefunction(found) or inspect.iscoroutinefunction(getattr(found, "__call__", None)):  # noqa: B004 - its kind, not whether it can be called
        raise unusable(f"policy {name!r} is a coroutine function; it must return the command: {SHAPE}")
    try:
        inspect.signature(found).bind(object(), object())
    except TypeError as error:
        raise unusable(
            f"policy {name!r} cannot be called with (view, random): {error}; it must be like: {SHAPE}"
        ) from None
    except ValueError:
        pass  # written in C: it shows when it is called
    return cast(Policy, found)


def told(error: BaseException) -> str:
    """An exception in one line: what, and where in the code that is not ours."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "sixledger/" not in frame.filename]
    frames = [frame for frame in frames if "importlib" not in frame.filename]
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    if isinstance(error, SyntaxError) and error.filename:
        where = f" at {Path(error.filename).name}:{error.lineno}"
    return one_line(f"{type(error).__name__}: {error}{where}")
