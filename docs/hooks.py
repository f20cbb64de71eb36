"""What the site needs beyond docs/: the pages in the root of the repository, and links that fit there.

On the site a link to a page leads to that page, and one to a file that the site does not have is its text alone.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

#: Pages in the root of the repository, and what they are called on the site.
ROOT_PAGES = {"README.md": "readme.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]*)(#[^)\s]*)?\)")
#: A set like {3,4} at the end of a cell of a table: text, which attr_list would take for attributes of the cell.
_SET = re.compile(r"\{(?=[^{}|`]*\} *\|)")
_CODE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)


def on_files(files: Files, *, config: MkDocsConfig, **_: Any) -> Files:
    """Add the pages of the root."""
    root = posixpath.dirname(config.config_file_path)
    for source, name in ROOT_PAGES.items():
        files.append(File.generated(config, name, abs_src_path=posixpath.join(root, source)))
    return files


def on_page_markdown(markdown: str, *, page: Page, files: Files, **_: Any) -> str:
    """Make links fit the site."""
    here = page.file.src_uri
    source = next((path for path, name in ROOT_PAGES.items() if name == here), f"docs/{here}")
    known = {file.src_uri for file in files}

    def fit(found: re.Match[str]) -> str:
        mark, text, target, anchor = found.groups()
        if not target or "://" in target or target.startswith("mailto:"):
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        name = ROOT_PAGES.get(path, path.removeprefix("docs/") if path.startswith("docs/") else "")
        if name not in known:
            # A wrong link inside docs/ stays, for mkdocs to complain about.
            return found[0] if path.startswith("docs/") else text
        return f"{mark}[{text}]({posixpath.relpath(name, posixpath.dirname(here) or '.')}{anchor or ''})"

    parts = _CODE.split(markdown)
    return "".join(
        part if number % 2 else _SET.sub("&#123;", _LINK.sub(fit, part)) for number, part in enumerate(parts)
    )
