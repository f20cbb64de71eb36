"""Redacted views: what a viewer exports is proven during the match, as far as it is open, and wholly after it.

Of every game and variant, for every viewer, after every record of a short match.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from sixledger.engine.game import Game, Setup
from sixledger.ledger import file, viewers
from sixledger.ledger.folding import begin
from sixledger.ledger.match import Match
from sixledger.ledger.records import redact
from sixledger.ledger.verify import exit_status, verify, verify_records
from sixledger.v1 import record_pb2
from sixledger.v1 import replay_service_pb2 as pb
from support.ledgers import COMMIT_REVEAL, KEYS, Table, head, rounds
from support.matches import all_setups

#: Commands of a match before it is resigned.
COMMANDS = 5


def short_match(game: Game[Any], setup: Setup) -> Table:
    """A match whose first two seats sign and contribute, ended by a resignation after a few commands."""
    both = frozenset({0, 1})
    name = f"short {game.id} {setup.seats}"
    table = Table(setup.seats, setup.options, COMMIT_REVEAL, both, both, game=game, name=name)
    table.start()
    for _ in range(COMMANDS):
        if not table.match.over:
            table.play_one()
    if not table.match.over:
        table.resign(1)
    return table


def viewers_of(setup: Setup) -> list[str]:
    """All of them, the operator last."""
    return [viewers.SPECTATOR, *map(viewers.seat_name, range(setup.seats)), viewers.OPERATOR]


def fold_on(match: Match | None, records: list[record_pb2.Record], viewer: int | None, revealed: int) -> Match:
    """The fold of what a viewer is shown, record by record, as a client takes it."""
    for record in records:
        shown = redact(record, viewer, revealed)
        match = match or begin(shown)
        match.apply(shown)
    assert match is not None
    return match


@pytest.mark.parametrize(("game", "setup"), all_setups())
def test_every_viewer_can_fold_every_prefix_and_sees_what_the_service_shows(game: Game[Any], setup: Setup) -> None:
    """Chain, seals, seeds and signatures hold with whatever is open; the own view and moves need nobody else."""
    table = short_match(game, setup)
    for viewer in (None, *range(setup.seats)):
        match: Match | None = None
        for record, served in zip(table.records, table.matches, strict=True):
            match = fold_on(match, [record], viewer, served.revealed)
            assert (match.hash, match.open_decision, match.over) == (served.hash, served.open_decision, served.over)
            if match.state is not None:
                assert game.view(match.state, viewer) == game.view(served.state, viewer)


@pytest.mark.parametrize(("game", "setup"), all_setups())
def test_every_export_is_proven_during_the_match_and_wholly_after_it(game: Game[Any], setup: Setup) -> None:
    """Incomplete means: nothing is wrong, and these records are not replayed in full. `partial` lets it pass."""
    table = short_match(game, setup)
    started = next(n for n, match in enumerate(table.matches) if match.state is not None)
    names = viewers_of(setup)
    for count in range(started, len(table.records) + 1):
        records, served = table.records[:count], table.matches[count - 1]
        # All viewers after the first and the last records, and each of them somewhere between.
        some = names if count in (started + 1, len(table.records)) else [names[count % len(names)]]
        for name in some:
            shown = viewers.redact_all(records, name, served.revealed)
            report = verify_records(shown, [head(records, count)], trusted=KEYS)
            assert exit_status(report, partial=True) == 0, (name, count, report.summary)
            if served.over:
                assert report.verdict == pb.VERDICT_VALID
                assert not report.unchecked
            elif served.state is None:
                assert len(report.unchecked) == 1  # the end alone is open: every record was replayed
            else:
                assert (report.verdict, exit_status(report)) == (pb.VERDICT_INCOMPLETE, 1)
                *folded, open_end = report.unchecked
                assert "not ended" in open_end
                is_sealed = any(len(record.seals) > len(record.openings) for record in shown)
                is_dealt = any(seal.audience == 0 for record in shown for seal in record.seals)  # from a deck
                assert len(folded) == 1 or not (is_sealed or is_dealt), "an open draft needs no seed"
                assert all("could not be replayed in full" in each for each in folded)


@pytest.mark.parametrize(("game", "setup"), all_setups()[::7])
def test_the_files_too(game: Game[Any], setup: Setup) -> None:
    """With header, readable copy and heads: each is verified as that of its viewer, and shows no more."""
    table = short_match(game, setup)
    middle = len(table.records) - 2
    for count in (middle, len(table.records)):
        records = table.records[:count]
        heads = [head(records, count)]
        files = {name: file.dump(records, heads, KEYS, viewer=name) for name in viewers_of(setup)[:-1]}
        for data in files.values():
            report = verify(data, trusted=KEYS)
            over = count == len(table.records)
            assert report.verdict == (pb.VERDICT_VALID if over else pb.VERDICT_INCOMPLETE)
            assert exit_status(report, partial=True) == 0
        sealed = {name: data for name, data in files.items() if name != viewers.SPECTATOR}
        if count == len(table.records):
            assert len(set(files.values())) == 1, "after the end everybody has the same file"
        elif any(seal.audience for record in records for seal in record.seals):
            assert all(len(mine) >= len(files[viewers.SPECTATOR]) for mine in sealed.values())
            assert len(set(files.values())) > 1, "a seat sees what a spectator does not"


@pytest.mark.parametrize("commands", range(4))
def test_what_is_sealed_is_named_record_by_record(commands: int) -> None:
    """An own choice is replayed as far as the hand is known; another's is sealed: both are named."""
    table = Table(2, signing=frozenset({0, 1}), name="named").play(10)
    started = 2
    count = started + 1 + commands
    records = table.records[:count]
    for name in (viewers.SPECTATOR, "seat:0", "seat:1"):
        shown = viewers.redact_all(records, name, 0)
        report = verify_records(shown, [head(records, count)], trusted=KEYS)
        first, _ = report.unchecked
        last = count - 1
        named = f"record {started}" if last == started else f"records {started}–{last}"
        assert first == f"{named} could not be replayed in full: sealed parts or an epoch that is not revealed"


def test_a_round_that_is_over_is_replayed_whole_while_the_match_goes_on() -> None:
    """Under COMMIT_REVEAL a round is proven the moment it ends: only what came after it is left open."""
    both = frozenset({0, 1})
    table = Table(2, rounds(3), COMMIT_REVEAL, both, both, name="rounds")
    table.start()
    ends: list[int] = []
    while not table.match.over:
        table.play_one()
        if table.match.revealed > len(ends):
            ends.append(table.match.seq)
    assert len(ends) == 3
    for epoch, (end, following) in enumerate(pairwise(ends), 1):
        for count in (end + 1, following):
            records = table.records[:count]
            for name in (viewers.SPECTATOR, "seat:0", "seat:1"):
                shown = viewers.redact_all(records, name, epoch)
                report = verify_records(shown, [head(records, count)], trusted=KEYS)
                last = f"record {end}" if count == end + 1 else f"records {end}–{count - 1}"
                assert report.unchecked[0].startswith(f"{last} could not be replayed in full")
                assert exit_status(report, partial=True) == 0
