"""Messages that all matches share."""

from __future__ import annotations

from sixledger.engine.bots import random_policy
from sixledger.engine.nimmt import GAME, core
from sixledger.engine.simulate import play
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb


def test_a_match_leaves_the_shared_events_unchanged() -> None:
    play(GAME, GAME.complete(10, pb.Options()), [random_policy] * 10, seed=1)
    for seat, row in enumerate(core.CHOSEN):
        for card, event in enumerate(row):
            assert event == pb.Chosen(seat=seat, card=card)
