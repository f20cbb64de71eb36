"""Python and JavaScript say the same of ledgers of every game, variant, mode and viewer, and of lies about them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from js.agree import GOOD, Pair, main, pairs, some
from js.node import opinions
from js.samples import LIES, Sample
from ledger.test_tamper import SHORT_FILE
from support import forging
from support.golden_ledger import FOLDER
from support.ledgers import KEYS, Table, forge, heads

GOLDEN = sorted(FOLDER.glob("*/*.ledger.jsonl"))


def _words(found: list[Pair]) -> list[str]:
    return [f"{each.lie} {each.number}: {each.python} {each.javascript}" for each in found if not each.agree]


def test_they_agree_on_random_ledgers(tmp_path: Path) -> None:
    found = some(range(60), 8, lies=False, folder=tmp_path)
    assert _words(found) == []
    assert all(each.equal for each in found)
    assert {each.python.verdict for each in found} == GOOD
    assert {each.viewer for each in found} == {"spectator", "seat", "operator"}
    assert len({each.kind for each in found}) == 11


def test_they_agree_on_lies(tmp_path: Path) -> None:
    found = some(range(60), 8, lies=True, folder=tmp_path)
    assert _words(found) == []
    assert {each.lie for each in found} == set(LIES)
    assert sum(each.equal for each in found) > 45
    assert {each.javascript.verdict for each in found} > {"TAMPERED", "TRUNCATED", "BAD_SIGNATURE", "SEED_MISMATCH"}


def test_they_agree_on_the_golden_ledgers(tmp_path: Path) -> None:
    samples = [Sample(number, str(path), "", path.read_bytes()) for number, path in enumerate(GOLDEN)]
    found = pairs(samples, tmp_path)
    assert len(found) >= 18
    assert [each for each in found if not each.equal or each.javascript.verdict not in GOOD] == []


def test_they_agree_that_a_ruleset_is_unknown(tmp_path: Path) -> None:
    table = Table(name="unknown rules").play(3)
    forged = forge(table.records, 0, lambda body: body.lifecycle[0].opened.ruleset.__setattr__("digest", bytes(32)))
    data = forging.write(forged, heads(forged), KEYS, table.game)
    (found,) = pairs([Sample(0, "", "", data)], tmp_path)
    assert found.equal
    assert found.javascript.verdict == "UNKNOWN_RULESET"


@pytest.fixture(scope="module")
def places() -> list[int]:
    """Every ninth byte of a ledger, and each of the last line and the first."""
    last = SHORT_FILE.rindex(b"\n", 0, -1)
    first = SHORT_FILE.index(b"\n")
    some_ = {place for place in range(len(SHORT_FILE)) if place % 9 == 0 or place > last or place < first}
    return sorted(some_)


def test_no_byte_is_free_but_those_of_the_readable_copy(places: list[int], tmp_path: Path) -> None:
    rng = random.Random(5)
    files = []
    for place in places:
        changed = bytearray(SHORT_FILE)
        changed[place] ^= 1 << rng.randrange(8)
        files.append(tmp_path / str(place))
        files[-1].write_bytes(changed)
    free = [place for place, found in zip(places, opinions(files), strict=True) if found["valid"]]
    assert [place for place in free if not _is_copy(place)] == []
    assert 0 < len(free) < len(places) / 2


def _is_copy(place: int) -> bool:
    """True if a byte belongs to the readable copy of a record."""
    start = SHORT_FILE.rindex(b"\n", 0, place) + 1 if place and b"\n" in SHORT_FILE[:place] else 0
    at = SHORT_FILE.find(b'"shown":', start, SHORT_FILE.index(b"\n", place))
    return 0 <= at < place


def test_the_soak_says_what_it_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--ledgers", "5", "--lies", "5", "--jobs", "1"]) == 0
    assert "5 ledgers, 5 lies, seed 1" in capsys.readouterr().out
