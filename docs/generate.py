"""Generate the reference pages of the documentation from what they describe, or check that they are current.

Usage: python docs/generate.py [--check]

API and errors come from the schema with its comments, the command line from the commands, the clients and the settings
from their code; `docs/_generate` has a module for each. `make docs` runs it before it builds the site.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from _generate.api import api
from _generate.clients import clients
from _generate.command_line import command_line
from _generate.errors import errors
from _generate.schema import Schema
from _generate.settings import settings

REFERENCE = Path(__file__).resolve().parent / "reference"


def pages() -> dict[str, str]:
    """The generated pages, by their path below docs/reference."""
    schema = Schema()
    found = dict([*api(schema), *errors(schema), *command_line(), *settings(), *clients()])
    return {name: re.sub(r"\n{3,}", "\n\n", text).strip() + "\n" for name, text in found.items()}


def stale() -> list[str]:
    """Paths of pages that differ from what would be generated, and of API pages that would not."""
    wanted = pages()
    kept = {f"api/{path.name}" for path in (REFERENCE / "api").glob("*.md")}
    differ = {
        name
        for name, text in wanted.items()
        if not (REFERENCE / name).exists() or (REFERENCE / name).read_text(encoding="utf-8") != text
    }
    return sorted(differ | (kept - set(wanted)))


def main() -> None:
    """Generate, or with `--check` end with status 1 if a page is not current."""
    if "--check" in sys.argv[1:]:
        if found := stale():
            raise SystemExit(f"not current: {', '.join(found)}; run 'make docs' and commit")
        return
    wanted = pages()
    (REFERENCE / "api").mkdir(exist_ok=True)
    for path in (REFERENCE / "api").glob("*.md"):
        path.unlink()
    for name, text in wanted.items():
        (REFERENCE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
