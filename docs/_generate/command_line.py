"""The commands."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

from _generate.markdown import NOTE

_EXAMPLES = "For example:"


def command_line() -> Iterator[tuple[str, str]]:
    """Every command with its options, from the commands themselves."""
    from sixledger.cli.main import COMMANDS, app, explained

    with ExitStack() as meanwhile:
        for name, _, _, examples in COMMANDS:
            if examples:
                meanwhile.enter_context(explained(name))
        # Else usage lines tell how this program was started.
        meanwhile.enter_context(mock.patch.object(sys, "argv", ["sixledger"]))
        generated = app.generate_docs()
    text = generated.replace("# sixledger\n", f"# Command line\n{NOTE}\n", 1)
    for name, _, _, examples in COMMANDS:
        if examples:
            shown = "".join(f"$ sixledger {example}\n" for example in examples)
            before, heading, after = text.partition(f"\n## sixledger {name}\n")
            usage, _, rest = after.partition("```\n\n")
            text = f"{before}{heading}{usage}```\n\n{_EXAMPLES}\n\n```console\n{shown}```\n\n{rest}"
    yield "cli.md", text.replace(str(Path.home()), "~").strip() + "\n"
