"""The documentation site: it builds without a warning, fetches nothing, and its generated pages are current."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    """docs/generate.py, started as a script: its folder is on the path."""
    sys.path.insert(0, str(ROOT / "docs"))
    spec = spec_from_file_location("docs_generate", ROOT / "docs/generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path.remove(str(ROOT / "docs"))
    return module


def test_the_generated_pages_are_current(generator: ModuleType) -> None:
    """Else: make docs."""
    assert generator.stale() == []


def test_a_stale_page_is_noticed(generator: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that differs, one that is missing, and one that nobody generates any more."""
    monkeypatch.setattr(generator, "REFERENCE", tmp_path)
    monkeypatch.setattr(generator, "pages", lambda: {"cli.md": "new", "api/a.md": "a", "errors.md": "e"})
    (tmp_path / "api").mkdir()
    for name, text in {"cli.md": "old", "errors.md": "e", "api/b.md": "b"}.items():
        (tmp_path / name).write_text(text)
    assert generator.stale() == ["api/a.md", "api/b.md", "cli.md"]


def test_every_thing_of_the_schema_is_described(generator: ModuleType) -> None:
    """Each service, call, message, field and value has a comment on its page; an empty cell would show here."""
    for name, text in generator.pages().items():
        if name.startswith("api/"):
            empty = [line for line in text.splitlines() if re.match(r"\| \d+ \| .* \| \|$", line)]
            assert not empty, name
            bare = re.findall(r"^(### \w+)\n\n(?:\| |Takes (?:a stream of )?\[|###)", text, re.MULTILINE)
            assert not bare, name


def test_every_setting_and_every_command_is_described(generator: ModuleType) -> None:
    pages = generator.pages()
    assert not re.findall(r"^\| `\w+` \| `\w+` \| .* \| \|$", pages["settings.md"], re.MULTILINE)
    assert not re.findall(r"^\* `--[\w-]+[^`]*`:?\s*(?:\*|$)", pages["cli.md"], re.MULTILINE)
    assert not re.findall(r"/(?:root|home|tmp)/", "".join(pages.values()))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_builds_without_a_warning_and_has_every_page(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    missing = {page for page in pages if not (site / page).exists()}
    assert not missing
    for name in ("readme.html", "contributing.html", "changelog.html"):
        assert (site / name).exists()
    assert not list(site.rglob("*.py"))


def test_the_site_fetches_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|img|iframe)[^>]+src="(?:https?:)?//[^"]*"', text), page
        assert not re.findall(r'<link[^>]+rel="(?:stylesheet|preconnect|preload)"[^>]+href="(?:https?:)?//', text), page
        assert not re.findall(r'<link[^>]+href="(?:https?:)?//[^"]*"[^>]+rel="(?:stylesheet|preconnect)"', text), page


def test_every_limit_of_the_threat_model_has_its_anchor(site: Path) -> None:
    """Reports and tests refer to them."""
    page = (site / "explanation/trust.html").read_text(encoding="utf-8")
    found = re.findall(r'<h3 id="(limit-[a-z-]+)"', page)
    written = re.findall(r"\{#(limit-[a-z-]+)\}", (ROOT / "docs/explanation/trust.md").read_text(encoding="utf-8"))
    assert found == written
    assert {"limit-looks-at-hands", "limit-chooses-last", "limit-withheld-reveal", "limit-key-ownership"} <= set(found)
    for limit, text in zip(found, page.split('<h3 id="limit-')[1:], strict=True):
        assert "What to do." in text.split("<h2")[0], limit


def test_sets_in_tables_are_text(site: Path) -> None:
    """Not attributes of their cell, as headings have them."""
    rules = (site / "reference/rules-contract.html").read_text(encoding="utf-8")
    assert "<td>announced {3,4}</td>" in rules.replace("&#123;", "{")


def test_links_between_the_root_and_the_docs_lead_to_pages_of_the_site(site: Path) -> None:
    start = (site / "readme.html").read_text(encoding="utf-8")
    assert 'href="spec/ledger.html"' in start
    assert 'href="contributing.html"' in start
    assert 'src="images/play.svg"' in start
    assert 'href="protos' not in start
    assert 'href="readme.html"' in (site / "index.html").read_text(encoding="utf-8")
