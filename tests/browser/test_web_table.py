"""The page of the web tutorial, looked at in headless Chromium: a person can play a match by clicking.

Not part of `make test`: `make browser` runs it, and draws the picture of the tutorial with `UPDATE=1`.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from sixledger.testing import FakeServer
from support.browser import Page, browser
from support.pages import DOCS
from support.web import web_backend

pytestmark = pytest.mark.browser

PICTURE = DOCS / "images" / "web-table.png"
STATUS = "document.getElementById('status').textContent"
CARDS = "document.querySelectorAll('#hand button:enabled').length"
OVER = f"{STATUS}.startsWith('The match is over')"


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    """The page at its first decision."""
    with FakeServer(seed=1) as server, web_backend(tmp_path, server.address) as address, browser() as page:
        page.open(address)
        page.wait(f"document.readyState == 'complete' && {CARDS} == 10")
        yield page
        assert page.complaints == []


def test_a_person_plays_a_match_by_clicking(page: Page) -> None:
    clicked = 0
    while not page.evaluate(OVER):
        turn = page.wait(
            f"{OVER} || document.querySelector('.take') != null || {CARDS} > 0"
            " ? document.body.innerText + document.querySelectorAll('button').length : null"
        )
        if page.evaluate(OVER):
            break
        page.evaluate("(document.querySelector('.take') ?? document.querySelector('#hand button:enabled')).click()")
        page.wait(f"document.body.innerText + document.querySelectorAll('button').length != {turn!r} || {OVER}")
        clicked += 1
    assert clicked >= 20
    assert "Won by seat" in page.evaluate(STATUS)
    assert page.evaluate("document.querySelectorAll('#seats tr').length") == 4


def test_a_reload_comes_back_to_the_same_table(page: Page) -> None:
    hand = "document.getElementById('hand')?.innerText"  # between two pages there is none
    before, place = page.evaluate(hand), page.evaluate("location.href")
    page.evaluate("location.reload()")
    page.wait(f"document.readyState == 'complete' && typeof {hand} == 'string' && {CARDS} == 10")
    assert page.evaluate(hand) == before
    assert page.evaluate("location.href") == place


def test_the_page_fits_a_window_and_a_phone(page: Page) -> None:
    """Nothing sticks out to the right, nothing is clipped, and every card has a face."""
    for width, height in ((960, 720), (390, 844)):
        page._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("[...document.querySelectorAll('.card')].every(c => c.scrollWidth <= c.clientWidth + 1)")
    assert page.evaluate("[...document.querySelectorAll('.card small')].every(s => /^●{1,7}$/.test(s.textContent))")


def test_the_picture_of_the_tutorial_is_of_this_page(page: Page) -> None:
    """In the middle of a round. Fonts differ between machines, so the bytes are not compared, but the size is."""
    for _ in range(3):
        cards = page.wait(f"{CARDS} && document.querySelectorAll('#hand button').length")
        page.evaluate("document.querySelector('#hand button:nth-child(4):enabled').click()")
        page.wait(f"document.querySelectorAll('#hand button').length < {cards}")
        page.wait(f"document.querySelector('.take') != null || {CARDS} > 0")
        page.evaluate("document.querySelector('.take')?.click()")
        page.wait(f"{CARDS} > 0")
    drawn = page.picture()
    if os.environ.get("UPDATE"):
        PICTURE.write_bytes(drawn)
    kept = PICTURE.read_bytes()
    assert kept.startswith(b"\x89PNG")
    assert struct.unpack(">II", kept[16:24]) == struct.unpack(">II", drawn[16:24]) == (960, 720)
