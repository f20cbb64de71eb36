"""Whatever bytes come, readers and verifier answer with a verdict or a typed error (`make fuzz` tries longer)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fuzz.targets import TARGETS, edited, inputs
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sixledger.ledger.faults import LedgerFault
from sixledger.ledger.jsonl import json_object

#: One edit: where, how many bytes go, what comes.
EDITS = st.builds(
    lambda at, drop, new: at.to_bytes(4, "big") + bytes([drop, len(new)]) + new,
    st.integers(0, 2**32 - 1),
    st.integers(0, 8),
    st.binary(max_size=8),
)
#: Which ledger, record and part, and the edits there.
CHANGES = st.builds(
    lambda where, edits: where + b"".join(edits), st.binary(min_size=3, max_size=3), st.lists(EDITS, max_size=4)
)

every_target = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)


@every_target
@given(data=st.binary(max_size=300) | CHANGES)
@settings(max_examples=60)
def test_any_bytes_get_an_answer(target: Callable[[bytes], None], data: bytes) -> None:
    target(data)


@every_target
def test_what_fuzzing_begins_with_gets_an_answer(target: Callable[[bytes], None]) -> None:
    for data in inputs(target.__name__):
        target(data)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_no_depth_is_too_deep_to_be_refused(opening: str, closing: str) -> None:
    """Also where reading just works and writing it again would not."""
    for depth in range(800, 1010, 2):
        with pytest.raises(LedgerFault):
            json_object((opening * depth + "1.0" + closing * depth).encode())
        with pytest.raises(LedgerFault):
            json_object((" " + opening * depth + "1" + closing * depth).encode())


@given(seed=st.binary(max_size=50), edits=st.lists(EDITS, max_size=3))
@example(seed=b"", edits=[])
@settings(max_examples=60)
def test_edits_change_what_they_say(seed: bytes, edits: list[bytes]) -> None:
    """And nothing else: the length follows from them."""
    result = edited(seed, b"".join(edits))
    assert len(result) <= len(seed) + sum(len(edit) - 6 for edit in edits)
    assert len(result) >= len(seed) - sum(edit[4] for edit in edits)
    assert edited(seed, b"") == seed
    assert edited(b"abc", (1).to_bytes(4, "big") + b"\x01\x02XY") == b"aXYc"
