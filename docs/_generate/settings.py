"""The settings of a server."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import MISSING, fields

from _generate.markdown import NOTE, table


def settings() -> Iterator[tuple[str, str]]:
    """Every setting of a server, with the comment on its field."""
    from sixledger.service.config import PREFIX, Settings

    source = inspect.getsource(Settings)
    rows = []
    comments: dict[str, str] = {}
    about, done = "", True
    for line in source.splitlines():
        if found := re.match(r" {4}#: (.*)", line):
            # A comment holds for all fields up to the next one.
            about, done = (found[1] if done else f"{about} {found[1]}"), False
        elif found := re.match(r" {4}(\w+): .* = ", line):
            comments[found[1]], done = about, True
    for field in fields(Settings):
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        shown = "" if default in (None, "") else f"`{default}`"
        rows.append((f"`{field.name}`", f"`{PREFIX}{field.name.upper()}`", shown, comments[field.name]))
    lines = [
        "# Settings of a server",
        NOTE,
        "",
        "`sixledger serve` takes the most common ones as options ([command line](cli.md#sixledger-serve)) and all of",
        "them from the environment; programs give them to `sixledger.service.config.Settings`. Options go before",
        "variables.",
        "",
        *table(("Setting", "Variable", "Default", ""), rows),
    ]
    yield "settings.md", "\n".join(lines)
