"""What the ledger costs: making a record, verifying it by full replay, and its size.

Everything runs in memory, on whole matches of five seats that do not sign. The baseline is the engine alone:
the same commands of the same matches, chance included, without records.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from bench.measure import Comparison, Figure, Report, Spread, all_of, by_turns
from sixledger.engine.game import run as run_events
from sixledger.ledger import verify
from sixledger.ledger.file import dump
from sixledger.ledger.folding import begin
from sixledger.ledger.records import read
from sixledger.v1 import engine_service_pb2, record_pb2, replay_service_pb2
from support import ledgers

SEATS = 5
_VALID = replay_service_pb2.VERDICT_VALID


class Played:
    """A whole match: its records, its file, and its commands in order."""

    def __init__(self, number: int, *, signed: bool = False) -> None:
        signing = frozenset(range(SEATS)) if signed else frozenset[int]()
        self.table = ledgers.Table(
            SEATS, ledgers.rounds(4), ledgers.SERVER_ONLY, signing=signing, immediate=not signed, name=f"bench {number}"
        ).play()
        table = self.table
        head = ledgers.SIGNER.sign(table.match.match_id, len(table.records), table.match.hash, table.match.time_us)
        self.heads = [head]
        self.file = dump(table.records, self.heads, ledgers.KEYS)
        self.opened = table.matches[0]
        if signed:
            return  # only verified
        self.commands: list[tuple[int, Any]] = []
        self.actions: list[engine_service_pb2.Action] = []
        for record in table.records[1:]:
            facts = read(record, table.game.schema)
            cause = record_pb2.Cause(
                kind=facts.body.cause.kind,
                seat=facts.body.cause.seat,
                request_id=facts.body.cause.request_id,
                decision=facts.body.cause.decision,
            )
            self.commands.append((cause.seat, facts.command))
            self.actions.append(
                engine_service_pb2.Action(cause=cause, time_us=facts.body.time_us, command=facts.command_bytes or b"")
            )

    def engine(self) -> None:
        """The commands on the engine alone."""
        game, setup = self.table.game, self.opened.setup
        chance = self.table.author.seeds.chance(self.opened.entropy)
        state = game.blank()
        run_events(game, state, game.start(state, setup, chance))
        legal, play, evolve = game.legal, game.play, game.evolve
        for seat, command in self.commands:
            legal(state, seat)
            for event in play(state, seat, command, chance):
                evolve(state, event)

    def make(self) -> None:
        """All records but the first, made again."""
        match, act = self.opened, self.table.author.act
        for action in self.actions:
            match, _ = act(match, action)

    def fold(self) -> None:
        """What a replica or a client does that trusts the rules: chain and openings, events applied."""
        match = begin(self.table.records[0])
        for record in self.table.records:
            match.apply(record, check_signatures=False)

    def verify_records(self) -> None:
        """Full verification of the records in memory."""
        report = verify.verify_records(self.table.records, self.heads, trusted=ledgers.KEYS)
        assert report.verdict == _VALID, replay_service_pb2.Verdict.Name(report.verdict)

    def verify_file(self) -> None:
        """Full verification of the file."""
        report = verify.verify(self.file, trusted=ledgers.KEYS)
        assert report.verdict == _VALID, replay_service_pb2.Verdict.Name(report.verdict)

    def read_lines(self) -> None:
        """The lines of the file, read as JSON and no more."""
        for line in self.file.splitlines():
            json.loads(line)


def _size(record: record_pb2.Record) -> int:
    return record.ByteSize()


def run(matches: int = 4, rounds: int = 25) -> Report:
    """Measure with so many matches in so many rounds: short ones, since a machine changes its speed in a second."""
    played = [Played(number) for number in range(matches)]
    records = sum(len(each.table.records) for each in played)
    signed = [Played(number, signed=True) for number in range(max(matches // 4, 1))]
    signed_records = sum(len(each.table.records) for each in signed)
    works = (Played.engine, Played.verify_records, Played.make, Played.fold, Played.verify_file, Played.read_lines)
    timed = by_turns(rounds, *(all_of(work, played) for work in works), all_of(Played.verify_records, signed))
    engine, verified, make, fold, file, lines = (
        [spent[at] / records * 1e6 for spent in timed] for at in range(len(works))
    )

    with_signatures = [spent[-1] / signed_records * 1e6 for spent in timed]

    def beside(name: str, values: list[float], baseline: str, base: list[float], reach: float | None) -> Comparison:
        return Comparison.of(name, baseline, "µs", list(zip(values, base, strict=True)), reach=reach)

    step = "engine step, shuffling included"
    sizes = Spread.of([sum(map(_size, each.table.records)) / len(each.table.records) for each in played])
    file_sizes = Spread.of([len(each.file) / len(each.table.records) for each in played])
    return Report(
        [
            beside("full replay verification, a record", verified, step, engine, 4),
            beside("the same, every act signed", with_signatures, "the same unsigned", verified, None),
            beside("making a record", make, step, engine, None),
            beside("fold without re-running, a record", fold, step, engine, None),
            beside("full verification of a file, a record", file, "json.loads of its lines", lines, None),
        ],
        [
            Figure("record, every opening included", "bytes", sizes),
            Figure("line of a ledger file, a record", "bytes", file_sizes),
        ],
    )


if __name__ == "__main__":
    sys.stdout.write(run().text() + "\n")
