"""Files in the text of documentation pages: code blocks with a title."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def files_of(page: str) -> dict[str, str]:
    """The content of every block that begins with ```` ```language title="name" ````, by name."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return dict(re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```$', text, re.DOTALL | re.MULTILINE))


def write(page: str, folder: Path) -> list[str]:
    """Write the files of a page into a folder, as a reader does; their names."""
    files = files_of(page)
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    return list(files)
