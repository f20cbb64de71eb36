"""Play a match of the example game over a socket: two signed bots, a spectator, every view compared.

Arguments: address of the server, file for the ledger. Prints the match id and the outcome.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
from ranks import GAME
from ranks.v1 import ranks_pb2 as pb
from sixledger.client import Client, errors, run_bot
from sixledger.engine.bots import random_policy
from sixledger.ledger.verify import verify
from sixledger.v1 import record_pb2
from sixledger.v1 import replay_service_pb2 as replay

SERVER_ONLY = record_pb2.CONTRIBUTION_MODE_SERVER_ONLY

address, path = sys.argv[1:]
with Client(address) as client:
    assert [info.ruleset.id for info in client.catalog.games()].count("ranks") == 1
    info = client.catalog.game("ranks")
    assert (info.game.title, info.game.min_seats, info.game.max_seats) == ("Ranks", 2, 6)
    assert info.game.presets[0].options.other.Is(pb.Options.DESCRIPTOR)

    # By hand: what the client computes is what the service shows, and the secret parts stay secret.
    created = client.matches.create("ranks", seats=2, options=pb.Options(rounds=2), mode=SERVER_ONLY)
    first, second = (client.matches.join(created.match_id, seat) for seat in range(2))
    with first, second, client.matches.watch_match(created.match_id) as spectator:
        first.refresh()
        assert first.play(first.legal()[1]).facts.command == pb.Guess(lower=1)
        for table in (first, second, spectator):
            table.refresh()
            token = getattr(getattr(table, "credentials", None), "token", "")
            shown = GAME.schema.view.unpack(client.matches.view(created.match_id, token).view)
            assert shown == table.view()
        assert (first.view().guess, second.view().HasField("guess")) == (1, False)
        assert second.records[-1].facts.command == pb.Guess()
        assert not any(event.order for event in spectator.records[-2].events if isinstance(event, pb.PackShuffled))
        with pytest.raises(errors.IllegalCommand) as illegal:
            first.play(pb.Guess(lower=0))
        assert illegal.value.rule == "already_chosen"
        assert GAME.schema.view.unpack(illegal.value.view).guess == 1
        with pytest.raises(errors.Malformed) as malformed:
            second.play(pb.Guess(lower=2))
        assert [each.field for each in malformed.value.violations] == ["command.lower"]
        legal = client.matches.legal(created.match_id, second.credentials.token)
        assert [GAME.schema.commands.unpack(each) for each in legal.commands] == second.legal()
        second.play(second.legal()[0])
        second.resign()
        assert second.verify().verdict == replay.VERDICT_VALID

    # By bots: signed, contributing, followed by a spectator who checks every record.
    created = client.matches.create("ranks", seats=3)
    with client.matches.watch_match(created.match_id) as spectator, ThreadPoolExecutor(3) as pool:
        games = [
            pool.submit(run_bot, client, created.match_id, seat, random_policy, random=Random(seat))
            for seat in range(3)
        ]
        for _ in spectator.watch():
            pass
        outcome = spectator.outcome()
        assert [game.result() for game in games] == [outcome] * 3
        spectator.export(path)
        report = spectator.verify()
        assert (report.verdict, report.signer_authenticated) == (replay.VERDICT_VALID, True)
    assert verify(path).verdict == replay.VERDICT_VALID
    assert client.replay.verify(path).verdict == replay.VERDICT_VALID
    sys.stdout.write(f"{created.match_id.hex()} {outcome}\n")
