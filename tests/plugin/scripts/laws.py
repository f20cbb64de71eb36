"""The laws that every game is held to, on the example: what its guide tells authors to test."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from random import Random

import pytest
from google.protobuf.message import Message
from ranks import GAME
from ranks.state import State
from ranks.v1 import ranks_pb2 as pb
from sixledger.engine.chance import Chance
from sixledger.engine.errors import IllegalCommand, MalformedCommand
from sixledger.engine.game import ABORTED, FORFEIT, RESIGNED, run
from sixledger.engine.registry import check
from sixledger.engine.visibility import redact

check(GAME)
for seed in range(60):
    seats = 2 + seed % 5
    random, chance = Random(seed), Chance.from_key(seed.to_bytes(32, "big"))
    setup = GAME.complete(seats, pb.Options(rounds=1 + seed % 4))
    state, viewers = GAME.blank(), (None, *range(seats))
    folds: dict[int | None, State] = {viewer: GAME.blank() for viewer in viewers}

    def take(events: Iterable[Message], state: State = state, folds: dict[int | None, State] = folds) -> None:
        """Apply events to the state, and to each fold what its viewer may see."""
        for event in events:
            GAME.evolve(state, event)
            for viewer, fold in folds.items():
                GAME.evolve(fold, redact(event, viewer))

    take(GAME.start(state, setup, chance))
    while GAME.outcome(state) is None:
        for viewer, fold in folds.items():
            # A view is the fold of what its viewer may see, and can be dealt anew without the viewer noticing.
            view = GAME.view(state, viewer)
            assert GAME.view(fold, viewer) == view
            assert viewer is None or GAME.legal(fold, viewer) == GAME.legal(state, viewer)
            other = GAME.redeal(view, chance.stream(1, f"redeal/{seed}"))
            assert GAME.view(other, viewer) == view
            assert GAME.position(GAME.from_position(GAME.position(other))) == GAME.position(other)
        if random.random() < 0.02:
            reason = random.choice((RESIGNED, FORFEIT, ABORTED))
            take(GAME.leave(state, reason, None if reason == ABORTED else 0))
            break
        seat = random.choice(GAME.decision(state).seats)
        # Exactly the legal commands are accepted.
        for lower in range(-1, seats + 2):
            command = pb.Guess() if lower < 0 else pb.Guess(lower=lower)
            try:
                next(GAME.play(GAME.copy(state), seat, command, chance))
                accepted = True
            except (IllegalCommand, MalformedCommand):
                accepted = False
            assert accepted == (command in GAME.legal(state, seat))
        take(GAME.play(state, seat, random.choice(GAME.legal(state, seat)), chance))
    outcome = GAME.outcome(state)
    assert outcome is not None
    assert GAME.epoch(state) <= GAME.epochs(setup)
    assert bool(outcome.winners) == (outcome.reason != ABORTED)
    with pytest.raises(IllegalCommand) as refused:
        run(GAME, state, GAME.leave(state, ABORTED, None))
    assert refused.value.rule == "finished"
sys.stdout.write("lawful\n")
