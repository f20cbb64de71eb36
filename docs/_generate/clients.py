"""The Python clients."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from _generate.markdown import NOTE


def clients() -> Iterator[tuple[str, str]]:
    """What both clients can do: names, signatures and docstrings are the same, which a test compares."""
    from sixledger import client as package

    lines = [
        "# Python clients",
        NOTE,
        "",
        "`Client` blocks, `AsyncClient` is for asyncio. Both have the same areas, methods and arguments; what talks to",
        "the server is awaited in `AsyncClient`, and its classes begin with `Async`. [Examples](examples.md) has every",
        "call of the API from both. Errors are in [errors](errors.md).",
        "",
        "```python",
        f"Client{_signature(package.Client.__init__)}",
        "```",
        "",
        inspect.getdoc(package.Client.__init__) or "",
        "",
    ]
    with package.Client("127.0.0.1:1") as client:
        areas = {f"client.{name}": type(area) for name, area in vars(client).items() if not name.startswith("_")}
    from sixledger.client.sync.engine_session import EngineSession
    from sixledger.client.sync.streams import MatchStream

    tables: dict[str, type] = {"SeatedMatch": package.SeatedMatch, "WatchedMatch": package.WatchedMatch}
    for name, kind in {
        **areas,
        **tables,
        "MatchStream": MatchStream,
        "EngineSession": EngineSession,
        "Evidence": package.Evidence,
    }.items():
        lines += [f"## {name}", "", inspect.getdoc(kind) or "", ""]
        inherited = {} if kind is not package.SeatedMatch else vars(package.WatchedMatch)
        if inherited:
            lines += ["Everything that [WatchedMatch](#watchedmatch) has, and:", ""]
        for member, value in vars(kind).items():
            if member.startswith("_") or (member == "flows" and isinstance(value, property)):
                continue
            if not (isinstance(value, property) or inspect.isfunction(value)):
                continue  # a field: the docstring of its class says what it is
            called = member if isinstance(value, property) else f"{member}{_signature(value)}"
            lines += ["```python", called, "```", "", inspect.getdoc(value) or "", ""]
    lines += ["## Bots", ""]
    for function in (package.run_bot, package.run_bot_async):
        lines += [
            "```python",
            f"{function.__name__}{_signature(function)}",
            "```",
            "",
            inspect.getdoc(function) or "",
            "",
        ]
    yield "clients.md", "\n".join(lines)


def _signature(function: Any) -> str:
    """The signature without `self`, as it is written."""
    given = inspect.signature(function)
    parts, named = [], False
    for name, each in given.parameters.items():
        if name == "self":
            continue
        if each.kind is each.KEYWORD_ONLY and not named:
            named = True
            parts.append("*")
        default = "" if each.default is each.empty else f" = {each.default!r}"
        parts.append(f"{name}: {each.annotation}{default}")
    result = "" if given.return_annotation in ("None", given.empty) else f" -> {given.return_annotation}"
    text = f"({', '.join(parts)}){result}"
    return text if len(text) <= 90 else "(\n" + "".join(f"    {part},\n" for part in parts) + f"){result}"
