"""The record that ends a round also deals the next one: what comes before that deal is proven at once."""

from __future__ import annotations

import pytest
from sixledger.engine.registry import installed
from sixledger.games.forces.v1 import forces_pb2
from sixledger.ledger import viewers
from sixledger.ledger.verify import verify_records
from sixledger.v1 import record_pb2
from sixledger.v1.replay_service_pb2 import Verdict
from support.ledgers import KEYS, Table, forge, heads


@pytest.fixture(scope="module")
def table() -> Table:
    """6 Forces up to the second deal; its cards are played in the open."""
    made = Table(3, forces_pb2.Options(deals=2), name="second deal", game=installed().get("forces", 1))
    made.start()
    while not any(event.forces.HasField("deal_scored") for event in _last(made).events):
        made.play_one()
    assert any(event.forces.HasField("deck_shuffled") for event in _last(made).events)
    return made


def _last(table: Table) -> record_pb2.Body:
    return record_pb2.Body.FromString(table.records[-1].body)


@pytest.mark.parametrize("viewer", ["operator", "spectator", "seat:0", "seat:2"])
def test_a_wrong_score_before_the_deal_is_a_divergence_for_everybody(table: Table, viewer: str) -> None:
    """The command is public, and so no seal of the record is that of the command."""

    def raise_points(body: record_pb2.Body) -> None:
        next(e for e in body.events if e.forces.HasField("deal_scored")).forces.deal_scored.points[0] += 1

    seq = len(table.records) - 1
    for change, verdict in ((None, "INCOMPLETE"), (raise_points, "RULES_DIVERGENCE")):
        records = forge(table.records, seq, change)
        report = verify_records(viewers.redact_all(records, viewer, 1), heads(records), trusted=KEYS)
        assert Verdict.Name(report.verdict) == f"VERDICT_{verdict}", report.summary
    assert report.finding.seq == seq
    assert [each.path for each in report.finding.differences] == ["events[2].DealScored.points[0]"]
