"""The page of `sixledger dispute`, looked at in headless Chromium: light, dark and printed, on a desk and on a phone.

Not part of `make test`: `make browser` runs it, and draws the picture of the guide with `UPDATE=1`.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from sixledger.cli.dispute.case import open_case
from sixledger.cli.dispute.facts import facts
from sixledger.cli.dispute.page import page as page_of
from sixledger.cli.receipts import Receipts, read_receipts
from sixledger.engine.forces import GAME as FORCES
from sixledger.engine.piece import GAME as PIECE
from support.browser import Page, browser
from support.disputes import prepare
from support.ledgers import KEYS, Table
from support.pages import DOCS

pytestmark = pytest.mark.browser

PICTURE = DOCS / "images" / "dispute.png"
DESK, PHONE, PAPER = (1000, 800), (390, 844), (718, 1000)
LOOKS = [
    ("light", "screen", DESK),
    ("light", "screen", PHONE),
    ("dark", "screen", DESK),
    ("dark", "screen", PHONE),
    ("light", "print", PAPER),
    ("dark", "print", PAPER),
]

#: The worst contrast of a text and its ground (WCAG 2), and the text.
CONTRAST = """(() => {
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const linear = v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = colour => [.2126, .7152, .0722].reduce((sum, part, at) => sum + part * linear(colour[at] / 255), 0);
  let worst = [99, ''];
  for (const each of document.body.querySelectorAll('*')) {
    const own = [...each.childNodes].filter(n => n.nodeType == 3).map(n => n.textContent.trim()).join(' ').trim();
    if (!own || each.closest('.sr') || !each.getClientRects().length) continue;
    let ground = [255, 255, 255];
    for (let at = each; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length == 3 || colour[3] > 0) { ground = colour; break; }
    }
    const [a, b] = [light(parse(getComputedStyle(each).color)), light(ground)];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < worst[0]) worst = [ratio, own];
  }
  return worst;
})()"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Reports by name, as addresses of their files: a lie, the truth, a receipt that was cheated, other games."""
    folder: Path = tmp_path_factory.mktemp("pages")
    prepare(folder)
    (folder / "running.ledger.jsonl").write_bytes(Table(4, name="running").play(9).file(viewer="seat:1"))
    for name, game, seats in (("forces", FORCES, 3), ("piece", PIECE, 2)):
        options = game.complete(seats, next(iter(game.presets.values())).options).options
        (folder / f"{name}.ledger.jsonl").write_bytes(
            Table(seats, options, game=game, name=name).play(30).file(viewer="operator")
        )
    kept = read_receipts([str(folder / "seat-0.head")])
    other = str(folder / "mine.ledger.jsonl")
    cases = {
        "lie": open_case(folder / "yours.ledger.jsonl", KEYS, Receipts()),
        "truth": open_case(folder / "mine.ledger.jsonl", KEYS, kept),
        "fraud": open_case(folder / "yours.ledger.jsonl", KEYS, kept, other),
        **{
            name: open_case(folder / f"{name}.ledger.jsonl", KEYS, Receipts())
            for name in ("running", "forces", "piece")
        },
    }
    for name, case in cases.items():
        command = f"sixledger dispute {case.path.name} --key server.vkey -o report.html"
        (folder / f"{name}.html").write_text(page_of(facts(case, [command])), encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in cases}


@pytest.fixture(scope="module")
def window() -> Iterator[Page]:
    """One browser for all."""
    with browser() as page:
        yield page


def show(window: Page, address: str, size: tuple[int, int], scheme: str = "light", media: str = "screen") -> None:
    window.show_as(scheme=scheme, media=media)
    window.open(address, *size)
    window.wait("document.readyState == 'complete' && document.querySelector('.stamp') != null")


@pytest.mark.parametrize(("scheme", "media", "size"), LOOKS)
def test_everything_can_be_read(
    window: Page, pages: dict[str, str], scheme: str, media: str, size: tuple[int, int]
) -> None:
    """Nothing sticks out or is cut off, every text stands out from its ground, and nothing is fetched."""
    for address in pages.values():
        show(window, address, size, scheme, media)
        assert window.evaluate("document.documentElement.scrollWidth") <= size[0]
        ratio, words = window.evaluate(CONTRAST)
        assert ratio >= 4.5, words
        cut = "[...document.querySelectorAll('.card')].filter(c => c.scrollWidth > c.clientWidth + 1)"
        cut += ".map(c => c.innerText)"
        assert window.evaluate(cut) == []
        assert window.evaluate("performance.getEntriesByType('resource').length") == 0
        dark = scheme == "dark" and media == "screen"
        ground = window.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (int(re.findall(r"\d+", ground)[0]) < 80) == dark
    assert window.complaints == []


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_the_verdict_is_what_one_sees_first(window: Page, pages: dict[str, str], size: tuple[int, int]) -> None:
    """Title and meaning are in the window before anybody scrolls."""
    for address in pages.values():
        show(window, address, size)
        assert window.evaluate("document.querySelector('.verdict dl').getBoundingClientRect().top") < size[1]
        assert window.evaluate("document.querySelector('h1').getBoundingClientRect().top") < 150


def test_rows_of_cards_lie_in_rows(window: Page, pages: dict[str, str]) -> None:
    """Five places of a row beside each other, on a desk and on a phone."""
    for size in (DESK, PHONE):
        show(window, pages["lie"], size)
        tops = "[...[...document.querySelectorAll('.piles')][0].querySelectorAll('.pile')].slice(0, 4).map(pile => "
        tops += "new Set([...pile.querySelectorAll('.card, .place')].map(c => c.getBoundingClientRect().top)).size)"
        assert window.evaluate(tops) == [1, 1, 1, 1]


def test_it_is_printed_on_a_few_pages(window: Page, pages: dict[str, str]) -> None:
    show(window, pages["fraud"], DESK)
    printed = window.pdf()
    assert printed.startswith(b"%PDF")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 8


def test_the_picture_of_the_guide_is_of_this_page(window: Page, pages: dict[str, str]) -> None:
    """Fonts differ between machines, so the bytes are not compared, but the size is."""
    show(window, pages["lie"], (1000, 1500))
    drawn = window.picture()
    if os.environ.get("UPDATE"):
        PICTURE.write_bytes(drawn)
    kept = PICTURE.read_bytes()
    assert kept.startswith(b"\x89PNG")
    assert struct.unpack(">II", kept[16:24]) == struct.unpack(">II", drawn[16:24]) == (1000, 1500)
