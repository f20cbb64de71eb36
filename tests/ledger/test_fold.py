"""A match folded from its records is the match of its author, and each viewer's fold sees what its seat sees."""

from __future__ import annotations

from typing import Any

import pytest
from sixledger.engine.nimmt import GAME
from sixledger.ledger import records
from sixledger.ledger.faults import LedgerFault
from sixledger.ledger.folding import begin, fold
from sixledger.ledger.match import Match
from sixledger.v1 import record_pb2
from support.ledgers import COMMIT_REVEAL, SEATS, SERVER_ONLY, Table, copies, rounds
from support.openings import add_openings, late_openings

MODES = [
    (COMMIT_REVEAL, frozenset({0, 1, 2}), frozenset({0, 2})),
    (SEATS, frozenset({1}), frozenset({1, 2})),
    (SERVER_ONLY, frozenset({0}), frozenset()),
]


def _table(mode: Any, signing: frozenset[int], contributing: frozenset[int], name: str = "fold") -> Table:
    return Table(3, rounds(2), mode, signing=signing, contributing=contributing, name=f"{name} {mode}")


def _standing(match: Match) -> list[Any]:
    """Everything of a match but the chain of seeds, of which only what is revealed counts."""
    parts = {name: getattr(match, name) for name in Match.__slots__}
    seeds = parts.pop("seeds")
    return [parts, seeds.known, [seeds.element(epoch) for epoch in range(seeds.known + 1)]]


@pytest.mark.parametrize(("mode", "signing", "contributing"), MODES)
def test_applying_a_record_leads_where_its_author_stands(
    mode: Any, signing: frozenset[int], contributing: frozenset[int]
) -> None:
    table = _table(mode, signing, contributing).play()
    match = begin(table.records[0])
    for record, expected in zip(table.records, table.matches, strict=True):
        match.apply(record)
        assert _standing(match) == _standing(expected), match.seq
    assert match.over


def test_applying_record_0_of_a_match_started_at_once_leads_where_its_author_stands() -> None:
    table = Table(immediate=True).play(3)
    assert _standing(fold(table.records)) == _standing(table.match)


def test_leaving_leads_where_the_author_stands() -> None:
    resigned = Table().play(4)
    resigned.resign(0)
    aborted = Table().play(4)
    aborted.abort()
    for table in (resigned, aborted):
        assert _standing(fold(table.records)) == _standing(table.match)
        assert table.match.over


@pytest.mark.parametrize("viewer", [0, 1, 2, None])
def test_the_fold_of_what_a_viewer_may_see_shows_what_it_sees(viewer: int | None) -> None:
    """As a client does it: each record as it arrives, with what was public then."""
    table = _table(*MODES[0], name="view").play()
    match = begin(table.records[0])
    for record, full in zip(table.records, table.matches, strict=True):
        match.apply(records.redact(record, viewer, full.revealed))
        assert (match.decision, match.to_act, match.hash) == (full.decision, full.to_act, full.hash)
        if full.state is not None:
            assert GAME.view(match.state, viewer) == GAME.view(full.state, viewer)
            if viewer is not None:
                assert GAME.legal(match.state, viewer) == GAME.legal(full.state, viewer)


@pytest.mark.parametrize("viewer", [0, None])
def test_late_openings_complete_what_was_redacted(viewer: int | None) -> None:
    table = _table(*MODES[0], name="late").play()
    held = [records.redact(record, viewer, 0) for record in copies(table.records)]
    revealed = 0
    for full in table.matches:
        if full.revealed > revealed:
            for kept, record in zip(held, table.records, strict=True):
                add_openings(kept, late_openings(record, viewer, revealed, full.revealed))
            revealed = full.revealed
    assert revealed == 2
    assert held == table.records


def test_a_late_opening_is_given_once() -> None:
    table = Table().play()
    record = next(record for record in copies(table.records) if record.openings)
    facts = records.read(record, table.game.schema)
    with pytest.raises(LedgerFault, match="opened twice"):
        records.read_later(table.game.schema, facts, record.openings)


def test_copies_of_a_match_do_not_share_what_they_learn() -> None:
    table = Table(options=rounds(2)).play()
    match = fold(table.records[:-1])
    other = match.copy()
    match.apply(table.records[-1])
    assert (match.revealed, other.revealed) == (2, 1)
    other.apply(table.records[-1])
    assert other.revealed == 2


def test_the_same_inputs_make_the_same_records() -> None:
    first, second = (_table(*MODES[0], name="same").play() for _ in range(2))
    assert [r.SerializeToString() for r in first.records] == [r.SerializeToString() for r in second.records]


def test_salts_depend_on_the_history() -> None:
    """Two forks that seal the same value at the same place do not share a salt."""
    forks = [Table(name="fork"), Table(name="fork")]
    for fork, first in zip(forks, (0, 1), strict=True):
        fork.start()
        fork.act(fork.command(0, GAME.legal(fork.match.state, 0)[first]))
    sealed = [fork.act(fork.command(1, GAME.legal(fork.match.state, 1)[0])) for fork in forks]
    values = [[opening.value for opening in record.openings] for record in sealed]
    salts = [{opening.salt for opening in record.openings} for record in sealed]
    assert values[0] == values[1]
    assert len(salts[0] | salts[1]) == 4
    assert sealed[0].seals[0].commitment != sealed[1].seals[0].commitment


def test_the_fold_refuses_what_nobody_may_believe() -> None:
    table = Table(options=rounds(2)).play()
    seq = next(n for n, record in enumerate(table.records) if len(record.seals) == 2)

    def lie(**fields: Any) -> record_pb2.Record:
        record = copies(table.records)[seq]
        for name, value in fields.items():
            setattr(record, name, value)
        return record

    for record in (lie(hash=bytes(32)), lie(hash=b""), lie(body=b""), lie(body=b"\xff"), table.records[seq + 1]):
        match = fold(table.records[:seq])
        with pytest.raises(LedgerFault):
            match.apply(record)
