"""Play a match of the example game on the stateless engine service, by checkpoints. Argument: address of the server."""

from __future__ import annotations

import sys

from ranks import GAME
from ranks.v1 import ranks_pb2 as pb
from sixledger.client import Client
from sixledger.ledger.verify import verify_records
from sixledger.v1 import record_pb2, replay_service_pb2

SECRET = bytes(range(32))

with Client(sys.argv[1]) as client:
    options = GAME.schema.options.pack(pb.Options(rounds=1))
    reply = client.engine.start(
        "ranks",
        2,
        options,
        root_secret=SECRET,
        match_id=bytes(16),
        request_id=bytes(16),
        time_us=1,
        mode=record_pb2.CONTRIBUTION_MODE_SERVER_ONLY,
        immediate=True,
    )
    records, checkpoint = [reply.record], reply.checkpoint
    for seat in range(2):
        legal = client.engine.legal(checkpoint, seat)
        view = GAME.schema.view.unpack(client.engine.view(checkpoint, seat).view)
        assert view.card == GAME.schema.position.unpack(checkpoint.position).cards[seat]
        played = client.engine.play(
            checkpoint,
            seat,
            legal.commands[seat],
            decision=legal.decision,
            root_secret=SECRET,
            request_id=bytes([seat]) * 16,
            time_us=2,
        )
        records.append(played.record)
        checkpoint = played.checkpoint
    sys.stdout.write(replay_service_pb2.Verdict.Name(verify_records(records).verdict))
