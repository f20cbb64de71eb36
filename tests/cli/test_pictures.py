"""The pictures of the documentation are what the commands print."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from support import pictures
from support.command_line import environment

EXPECTED = {
    "play": ["round 2, turn", "your hand", "Your card", "fits nowhere"],
    "verify": ["RULES_DIVERGENCE", "CardPlaced.row", "recorded", "expected", "last good record"],
    "demo": ["Final ranking", " VALID ", " TAMPERED ", "sixledger verify out/"],
}


def test_every_picture_can_be_drawn_anew(tmp_path: Path) -> None:
    """Well-formed, with the words that matter, and nothing that has to be fetched."""
    script = Path(pictures.__file__)
    subprocess.run([sys.executable, script, tmp_path], check=True, env=environment(tmp_path), cwd=tmp_path)
    for name, words in EXPECTED.items():
        text = (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
        shown = "\n".join(ElementTree.fromstring(text).itertext()).replace("\xa0", " ")
        for word in words:
            assert word in shown, (name, word)
        assert text.count("http") == 1, "the namespace, and no address to load something from"
