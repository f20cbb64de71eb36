"""The tables of the JavaScript verifier, copied from the specification.

`python tests/js/tables.py` compares, with exit status 1 if they differ; with `--update` it writes
clients/js/lib/tables.mjs anew. `node clients/js/build.mjs` then builds the page.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATH = ROOT / "clients" / "js" / "lib" / "tables.mjs"
SPEC = ROOT / "docs" / "spec" / "ledger.md"
_BLOCK = re.compile(r"```(messages|enums) (\S+)\n(.*?)```", re.DOTALL)
_SECRET = re.compile(r"^\| (\w+) `(\w+)` \| (`[^|]*`) \| (EPOCH|SEAT) \|$", re.MULTILINE)

_HEAD = """\
// The messages of a ledger: the tables of the specification (docs/spec/ledger.md, sections 2 and 4), word for word.
// `python tests/js/tables.py --update` copies them.

/** Number, name and type of every field, by package. */
export const MESSAGES = {
"""
_ENUMS = """\
};

/** The enums of each package. Their numbers are open: a reader keeps those that it does not know. */
export const ENUMS = {
"""
_SECRETS = """\
};

/** The secret fields by message, and who may see them: the seat at once, or everybody with the epoch. */
export const SECRETS = {
"""


def tables() -> str:
    """The module."""
    text = SPEC.read_text(encoding="utf-8")
    parts, enums = [_HEAD], {}
    for kind, package, block in _BLOCK.findall(text):
        if kind == "messages":
            parts.append(f'  "{package}": `\n{block}`,\n')
        else:
            enums[package] = [line.split()[0] for line in block.splitlines()]
    parts.append(_ENUMS)
    parts += [f'  "{package}": {json.dumps(names)},\n' for package, names in enums.items()]
    parts.append(_SECRETS)
    for game, name, fields, visibility in _SECRET.findall(text):
        names = json.dumps(re.findall(r"`(\w+)`", fields))
        parts.append(f'  "sixledger.games.{game}.v1.{name}": {{ fields: {names}, class: "{visibility}" }},\n')
    return "".join((*parts, "};\n"))


def main() -> int:
    """Compare or write."""
    parser = argparse.ArgumentParser(description="The tables of the JavaScript verifier.")
    parser.add_argument("--update", action="store_true")
    if parser.parse_args().update:
        PATH.write_text(tables(), encoding="utf-8")
    elif PATH.read_text(encoding="utf-8") != tables():
        sys.stderr.write(f"{PATH.relative_to(ROOT)} is not current: run `python tests/js/tables.py --update`\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
