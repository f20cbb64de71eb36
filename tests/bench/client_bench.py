"""What checking costs a client that watches a match: the real client beside the same client without its checks.

Three processes: this one, the server, and the load, which plays a long match with five seats and then has clients watch
it by turns, from record 0 to the end:

* the client as it is: it checks every record, folds it, and plays each round again when it is revealed;
* the same client with a tracker that checks nothing and only folds: what was opened is merged, events are applied;
  both are asked for the events of every record and of what it opens, as somebody who watches does;
* a bare stream, whose messages are read and parsed and no more.

Folding is not checking: it is what the views, the legal commands and the result of a table come from. CPU time of the
load's process, all threads, for a record.

    python -m bench.client_bench <address> <rounds> <rounds of the match> <watches in a row> <1: the seats sign>
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import grpc
from bench.measure import Comparison, Figure, Report, Spread, by_turns
from bench.unary_bench import _START_S, _running
from sixledger.client import Client, Recorded, SeatedMatch, Settings
from sixledger.client.core import hosting
from sixledger.client.core.tracker import Tracker
from sixledger.engine import visibility
from sixledger.engine.bots import random_policy
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.ledger.folding import begin
from sixledger.ledger.records import Facts
from sixledger.v1 import game_pb2, match_service_pb2, record_pb2
from sixledger.v1.match_service_pb2_grpc import MatchServiceStub

SEATS = 5


class Trusting(Tracker):
    """Believes everything: folds what it is told, and checks no hash, seal, opening, seed, signature, head or rule."""

    def receive(
        self,
        record: record_pb2.Record,
        late: Iterable[record_pb2.LateOpenings] = (),
        head: str = "",
        body: record_pb2.Body | None = None,
    ) -> Recorded:
        """Take the next record."""
        body = body or record_pb2.Body.FromString(record.body)
        match = self._match
        if match is None:
            match = self._match = begin(record)
        game, decision = match.game, match.decision
        facts = _read(record, body, game.schema)
        for step in body.lifecycle:
            if step.WhichOneof("step") != "opened":
                match.take_step(step)
        for event in facts.events:
            game.evolve(match.state, event)
        match.learn(body)
        match.finish_record(record.hash, body.time_us, decision, body.cause.seat if body.command else None)
        opened = []
        for each in late:
            held = self.received[each.seq]
            merged = held.merged(each, _opened(_copy(held.facts), each.openings, game.schema))
            self.received[each.seq] = merged
            opened.append(merged)
        recorded = Recorded(match.seq, record, facts, tuple(opened))
        self.received.append(recorded)
        self.time.learn(body.time_us)
        return recorded

    def head(self, note: str, *, least: int = 0, exactly: int | None = None) -> None:
        """Take no notice of a signed head."""


def _read(record: record_pb2.Record, body: record_pb2.Body, schema: Any) -> Facts:
    """What a record says, with its openings merged as they are."""
    facts = Facts(body, signature=body.cause.signature)
    facts.events = [schema.events.unpack(event) for event in body.events]
    if body.command:
        facts.command, facts.command_bytes = schema.read_command(body.command), body.command
    facts.owners = _owners(facts)
    facts.closed = list(range(len(facts.owners)))
    return _opened(facts, record.openings, schema)


def _opened(facts: Facts, openings: Iterable[record_pb2.Opening], schema: Any) -> Facts:
    for opening in openings:
        facts.closed = [index for index in facts.closed if index != opening.seal]
        if (owner := facts.owners[opening.seal]) < 0:
            sealed = record_pb2.SealedCommand.FromString(opening.value)
            facts.command, facts.command_bytes = schema.read_command(sealed.command), sealed.command
        else:
            whole = type(facts.events[owner])()
            whole.CopyFrom(facts.events[owner])
            whole.MergeFrom(schema.events.unpack(game_pb2.Event.FromString(opening.value)))
            facts.events[owner] = whole
    return facts


def _copy(facts: Facts) -> Facts:
    events = facts.events.copy()
    return Facts(facts.body, facts.command, facts.command_bytes, facts.signature, events, facts.owners, facts.closed)


def _owners(facts: Facts) -> list[int]:
    def secret(message: Any) -> bool:
        kind: Any = type(message)
        return visibility.classes(kind).kind != visibility.PUBLIC

    sealed = facts.command is not None and secret(facts.command)
    return [-1] * sealed + [at for at, event in enumerate(facts.events) if secret(event)]


# -- the load ------------------------------------------------------------------------------------


def _played(client: Client, rounds: int, *, sign: bool) -> tuple[bytes, int]:
    """A finished match, and how many records it has."""
    options = nimmt_pb2.Options(end_mode=nimmt_pb2.END_MODE_ROUNDS, rounds=rounds)
    match_id = client.matches.create("nimmt", seats=SEATS, options=options).match_id
    seats = [client.matches.join(match_id, seat, sign=sign, contribute=sign) for seat in range(SEATS)]

    def play(table: SeatedMatch) -> None:
        random = Random(table.seat)
        while table.turn():
            table.play(random_policy(table.view(), random))

    with ThreadPoolExecutor(SEATS) as pool:
        list(pool.map(play, seats))
    for table in seats:
        table.close()
    return match_id, len(seats[0].records)


def _watch(client: Client, match_id: bytes, kind: type[Tracker], times: int) -> None:
    # The client itself has no way to do without its checks.
    with patch.object(hosting, "Tracker", kind):
        _watch_so(client, match_id, times)


def _watch_so(client: Client, match_id: bytes, times: int) -> None:
    # A client may put together what is opened late when it is asked for it. So it is asked, of both kinds: else the one
    # without checks would do what the other one leaves, and the checks would seem to cost less than they do.
    for _ in range(times):
        with client.matches.watch_match(match_id) as table:
            flows = table._table
            while not flows.feed.caught_up or not flows.tracker.over:
                item = table._driver.run(flows.pull(flows.tracker.count))
                if isinstance(item, Recorded):
                    _ = item.events, item.opened


def _parse(stub: Any, match_id: bytes, times: int) -> None:
    for _ in range(times):
        for item in stub.WatchMatch(match_service_pb2.WatchMatchRequest(match_id=match_id)):
            if item.HasField("record"):
                record_pb2.Body.FromString(item.record.record.body)


def load(address: str, rounds: int, match_rounds: int, times: int, *, sign: bool) -> dict[str, Any]:
    """CPU microseconds of a record: checked, folded, parsed, a list each; and the records of the match."""
    with Client(address, settings=Settings(watch_timeout=600.0)) as client, grpc.insecure_channel(address) as channel:
        match_id, records = _played(client, match_rounds, sign=sign)
        stub: Any = MatchServiceStub(channel)
        works: list[Callable[[], object]] = [
            lambda: _watch(client, match_id, Tracker, times),
            lambda: _watch(client, match_id, Trusting, times),
            lambda: _parse(stub, match_id, times),
        ]
        spent = by_turns(rounds, *works)
    columns = [[each[at] / records / times * 1e6 for each in spent] for at in range(len(works))]
    return {"records": records, "checked": columns[0], "folded": columns[1], "parsed": columns[2]}


# -- the benchmark -------------------------------------------------------------------------------


def _measure(folder: Path, rounds: int, match_rounds: int, times: int, *, sign: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=folder) as temporary, _running("bench.unary_server", temporary) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        if not address:
            raise RuntimeError(f"the server did not start; exit status {server.wait(_START_S)}")
        arguments = map(str, (rounds, match_rounds, times, int(sign)))
        with _running("bench.client_bench", address, *arguments) as process:
            output, _ = process.communicate(timeout=_START_S + 120)
            if process.returncode:
                raise RuntimeError(f"the load failed with exit status {process.returncode}")
        found: dict[str, Any] = json.loads(output)
        return found


def run(folder: Path, rounds: int = 7, match_rounds: int = 8, times: int = 2) -> Report:
    """Measure with a store in `folder`."""
    plain = _measure(folder, rounds, match_rounds, times, sign=False)
    signed = _measure(folder, rounds, match_rounds, times, sign=True)

    def share(name: str, found: dict[str, Any], reach: float | None) -> Comparison:
        checks = [whole - fold for whole, fold in zip(found["checked"], found["folded"], strict=True)]
        pairs = list(zip(checks, found["checked"], strict=True))
        return Comparison.of(name, "the watching client, all of it", "µs", pairs, reach=reach)

    def beside(name: str, found: dict[str, Any]) -> Comparison:
        pairs = list(zip(found["checked"], found["parsed"], strict=True))
        return Comparison.of(name, "receiving and parsing the same messages", "µs", pairs)

    return Report(
        [
            share("checks of a watching client, a record", plain, 0.15),
            share("the same, every act signed: checks", signed, None),
            beside("watching client, a record", plain),
        ],
        [Figure("fold of a watching client and its transport, a record", "µs", Spread.of(plain["folded"]))],
    )


if __name__ == "__main__":
    _, address_, *numbers = sys.argv
    rounds_, match_rounds_, times_, sign_ = map(int, numbers)
    sys.stdout.write(json.dumps(load(address_, rounds_, match_rounds_, times_, sign=bool(sign_))) + "\n")
