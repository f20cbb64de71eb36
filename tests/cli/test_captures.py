"""What terminals of 80×24 and 120×40 show of `play` and `replay` is pinned, and the documentation shows the same."""

from __future__ import annotations

import pytest
from support import captures


@pytest.fixture(scope="module")
def taken() -> dict[str, str]:
    """Every capture, taken now."""
    return captures.captures()


@pytest.mark.parametrize("name", [f"{program}-{w}x{h}" for program in ("play", "replay") for w, h in captures.SIZES])
def test_captures_are_as_pinned_and_as_documented(taken: dict[str, str], name: str) -> None:
    """If the change is wanted: `python tests/support/captures.py --update`, and look at every changed line."""
    pinned = (captures.PINNED / f"{name}.txt").read_text(encoding="utf-8")
    assert captures.text_of(taken[name]) == pinned
    documented = (captures.PICTURES / f"{name}.svg").read_text(encoding="utf-8")
    assert captures.text_of(documented) == pinned
    width, height = map(int, name.partition("-")[2].split("x"))
    lines = pinned.splitlines()
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    assert documented.count("http") == 1, "the namespace, and no address to load something from"
