"""The page of the second opinion in headless Chromium, opened from a file: ledgers are dropped on it and judged.

Not part of `make test`: `make browser` runs it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from gzip import compress
from typing import Any

import pytest
from js.node import CLIENT
from support import forging
from support.browser import Page, browser
from support.ledgers import COMMIT_REVEAL, KEYS, OTHER_SIGNER, Table, forge, heads

pytestmark = pytest.mark.browser

BOTH = frozenset({0, 1})
TABLE = Table(mode=COMMIT_REVEAL, signing=BOTH, contributing=BOTH, name="browser").play()
CARDS = "document.querySelectorAll('article').length"


@pytest.fixture
def page() -> Iterator[Page]:
    """The page, opened as a file."""
    with browser() as page:
        page.open((CLIENT / "verify.html").as_uri())
        page.wait("document.readyState == 'complete' && document.getElementById('drop') != null")
        yield page
        assert page.complaints == []


def drop(page: Page, name: str, data: bytes) -> dict[str, Any]:
    """Drop a file, and read what the page says."""
    before = page.evaluate(CARDS)
    encoded = base64.b64encode(data).decode()
    page.evaluate(f"""{{
        const bytes = Uint8Array.from(atob({json.dumps(encoded)}), (each) => each.charCodeAt(0));
        const held = new DataTransfer();
        held.items.add(new File([bytes], {json.dumps(name)}));
        window.dispatchEvent(new DragEvent("drop", {{ dataTransfer: held, cancelable: true }}));
    }}""")
    page.wait(f"{CARDS} > {before}")
    told = "(() => { const card = document.querySelector('article');"
    found = page.evaluate(f"{told} return JSON.stringify([card.dataset.verdict, card.innerText]); }})()")
    verdict, text = json.loads(found)
    return {"verdict": verdict, "text": text}


def test_a_good_ledger_is_valid_and_the_page_says_what_was_not_checked(page: Page) -> None:
    found = drop(page, "match.ledger.jsonl", TABLE.file(4))
    assert found["verdict"] == "VALID"
    for words in ("VALID so far as checked", "rules of the game are not run", "unauthenticated", "signatures of acts"):
        assert words in found["text"]


def test_gzip_keys_and_running_matches(page: Page) -> None:
    page.evaluate(f"document.getElementById('key').value = {json.dumps(str(KEYS[0]))}")
    found = drop(page, "match.ledger.jsonl.gz", compress(TABLE.file()))
    assert found["verdict"] == "VALID"
    assert "unauthenticated" not in found["text"]
    assert drop(page, "cut.gz", compress(TABLE.file())[:-9000])["verdict"] == "TRUNCATED"
    assert drop(page, "running", Table(name="running page").play(3).file())["verdict"] == "INCOMPLETE"
    page.evaluate(f"document.getElementById('key').value = {json.dumps(str(OTHER_SIGNER.verifier_key))}")
    assert drop(page, "match", TABLE.file())["verdict"] == "BAD_SIGNATURE"


def test_lies_are_told_with_their_record_and_never_become_markup(page: Page) -> None:
    forged = forge(TABLE.records, 7, lambda body: body.cause.__setattr__("signature", bytes(64)))
    lie = forging.write(forged, heads(forged), KEYS, TABLE.game)
    assert drop(page, "<img src=x onerror=alert(1)>", lie)["verdict"] in {"BAD_SIGNATURE", "TAMPERED"}
    assert "at record 7" in drop(page, "lie", lie)["text"]
    assert drop(page, "picture.png", b"\x89PNG")["verdict"] == "UNUSABLE"
    assert page.evaluate("document.images.length") == 0


def test_it_fits_a_window_and_a_phone_in_light_and_dark(page: Page) -> None:
    drop(page, "match.ledger.jsonl", TABLE.file())
    grounds = set()
    for width, scheme in ((960, "light"), (390, "dark")):
        page._call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
        page._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(grounds) == 2
