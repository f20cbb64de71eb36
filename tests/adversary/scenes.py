"""The matches that are attacked: small, whole, and always the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

from google.protobuf.message import Message
from sixledger.engine.registry import installed
from sixledger.games.forces.v1 import forces_pb2
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.games.piece.v1 import piece_pb2
from sixledger.ledger import clocks
from sixledger.v1 import record_pb2
from support.forging import body_of
from support.ledgers import COMMIT_REVEAL, SEATS, START_US, Table, copies, rounds

BOTH = frozenset({0, 1})
SECOND = 1_000_000
SEAT = record_pb2.CAUSE_KIND_SEAT


@dataclass(frozen=True)
class Scene:
    """One honest match. What `find`, `step` and `command` return are numbers of records."""

    name: str
    #: For people.
    title: str
    table: Table
    #: Whose ledger the file is; None: the openings are as everybody may have them after the end.
    viewer: str | None = None
    #: Where `find` and `command` begin to look.
    first: int = 0

    def records(self) -> list[record_pb2.Record]:
        """Independent copies of the honest records."""
        return copies(self.table.records)

    def body(self, seq: int) -> record_pb2.Body:
        """The body of a record."""
        return body_of(self.table.records[seq])

    def events(self, body: record_pb2.Body) -> list[Any]:
        """The events of a body, each a oneof of the game; changing one changes the body."""
        return [getattr(event, self.table.game.id) for event in body.events]

    def kinds(self, seq: int) -> list[str]:
        """The kinds of events of a record."""
        return [event.WhichOneof("event") for event in self.events(self.body(seq))]

    def find(self, kind: str, *, skip: int = 0) -> int:
        """The first record, after `skip` others, with such an event."""
        return [seq for seq in range(self.first, len(self.table.records)) if kind in self.kinds(seq)][skip]

    def step(self, kind: str, *, skip: int = 0) -> int:
        """The first record, after `skip` others, with such a step of the match's life."""
        return [
            seq
            for seq in range(len(self.table.records))
            if any(step.WhichOneof("step") == kind for step in self.body(seq).lifecycle)
        ][skip]

    def command(self, *, skip: int = 2, seat: int | None = None, where: Callable[[int], bool] | None = None) -> int:
        """A record with a command of a seat, and another record behind it."""
        found = (
            seq
            for seq in range(self.first, len(self.table.records) - 1)
            if self.body(seq).command
            and self.body(seq).cause.kind == SEAT
            and (seat is None or self.body(seq).cause.seat == seat)
            and (where is None or where(seq))
        )
        return next(islice(found, skip, None))

    def choice(self, *, seat: int | None = None, skip: int = 0) -> int:
        """A record with a command of a seat that signs and had a choice."""

        def where(seq: int) -> bool:
            actor = self.body(seq).cause.seat
            return actor in self.table.signing and len(self.legal(seq)) > 1

        return self.command(seat=seat, where=where, skip=skip)

    def legal(self, seq: int) -> list[Message]:
        """What the seat that acts in record `seq` could have played."""
        return self.table.game.legal(self.table.matches[seq - 1].state, self.body(seq).cause.seat)

    def other_command(self, seq: int) -> bytes:
        """Another legal command than the one of record `seq`, as bytes."""
        game = self.table.game
        record = self.table.records[seq]
        played = self.body(seq).command
        if record.openings and game.schema.read_command(played) not in self.legal(seq):
            played = record_pb2.SealedCommand.FromString(record.openings[0].value).command
        for each in self.legal(seq):
            packed: bytes = game.schema.commands.pack(each).SerializeToString(deterministic=True)
            if packed != played:
                return packed
        raise LookupError(f"record {seq}: there was no choice")

    def seal_of(self, seq: int, kind: str) -> int:
        """The seal of the first event of this kind in a record."""
        sealed = {
            "hand_dealt",
            "pack_shuffled",
            "deck_shuffled",
            "chosen",
            "deck_looked",
            "bottom_to_top",
            "bottom_given",
            "six_piece",
            "bottom_looked",
        }
        before = self.kinds(seq)[: self.kinds(seq).index(kind)]
        has_own = len(self.table.records[seq].seals) > sum(each in sealed for each in self.kinds(seq))
        return sum(each in sealed for each in before) + has_own


def _play(table: Table) -> Table:
    table.start()
    return table.play()


def _base() -> Scene:
    table = Table(options=rounds(2), mode=COMMIT_REVEAL, signing=BOTH, contributing=BOTH, name="adversary base")
    return Scene("base", "6 nimmt! base, two rounds", _play(table))


def _nifty() -> Scene:
    options = nimmt_pb2.Options(variant=nimmt_pb2.VARIANT_NIFTY, end_mode=nimmt_pb2.END_MODE_ROUNDS, rounds=1)
    table = Table(options=options, mode=COMMIT_REVEAL, signing=BOTH, contributing=BOTH, name="adversary nifty")
    return Scene("nifty", "6 nimmt! NIFTY, pairs chosen under seal", _play(table))


def _forces() -> Scene:
    """Seat 2 is played by the server: it has no key and does not contribute."""
    table = Table(
        3,
        options=forces_pb2.Options(deals=1),
        mode=COMMIT_REVEAL,
        signing=BOTH,
        contributing=BOTH,
        name="adversary forces",
        game=installed().get("forces", 1),
    )
    table.join(0)
    table.join(1)
    table.join(2, hosted=True)
    table.contribute()
    return Scene("forces", "6 Forces, one deal, one seat hosted", table.play())


def _piece() -> Scene:
    """A table that waits for readiness, with a clock; it is paused, and a seat runs out of time."""
    table = Table(
        options=piece_pb2.Options(max_turns=10),
        mode=SEATS,
        signing=BOTH,
        contributing=BOTH,
        ready_seats=2,
        name="adversary piece",
        game=installed().get("piece", 1),
        clock=record_pb2.Clock(turn_us=60 * SECOND, join_us=600 * SECOND),
        policy=clocks.FIRST_LEGAL,
        at=0,
    )
    for seat in (0, 1):
        table.join(seat)
    for seat in (0, 1):
        table.ready(seat)
    table.contribute()
    for number in range(1, 5):
        table.at = number * SECOND
        table.play_one()
    table.pause()
    table.at = 10 * SECOND
    table.resume()
    table.fire()
    while not table.match.over:
        table.at = table.match.time_us - START_US + SECOND
        table.play_one()
    return Scene("piece", "6piece against the clock", table)


def _unsigned() -> Scene:
    """Nobody signs, nobody contributes."""
    return Scene("unsigned", "6 nimmt! base, no keys", _play(Table(options=rounds(1), name="adversary unsigned")))


def _running() -> Scene:
    """In its second round, with the hands of both under seal: what seat 0 has of it."""
    table = Table(options=rounds(3), mode=COMMIT_REVEAL, signing=BOTH, contributing=BOTH, name="adversary running")
    table.start()
    table.play(38)
    dealt = Scene("", "", table).find("pack_shuffled", skip=1)
    return Scene("running", "6 nimmt! base in its second round, as seat 0 has it", table, "seat:0", dealt)


def _withheld() -> Scene:
    """Seat 1 commits to a contribution and withholds it; the match goes on without."""
    clock = record_pb2.Clock(
        contribute_us=60 * SECOND, reveal_us=60 * SECOND, withheld=record_pb2.WITHHELD_POLICY_GO_ON
    )
    table = Table(
        options=rounds(1),
        mode=COMMIT_REVEAL,
        signing=BOTH,
        contributing=BOTH,
        clock=clock,
        name="adversary withheld",
        at=0,
    )
    for seat in (0, 1):
        table.join(seat)
    for seat in (0, 1):
        table.commit(seat)
    table.reveal(0)
    table.fire()
    table.at = table.match.time_us - START_US
    return Scene("withheld", "6 nimmt! base, a contribution withheld", table.play())


_SCENES: dict[str, Callable[[], Scene]] = {
    "base": _base,
    "nifty": _nifty,
    "forces": _forces,
    "piece": _piece,
    "unsigned": _unsigned,
    "running": _running,
    "withheld": _withheld,
}


@cache
def scene(name: str) -> Scene:
    """The scene of this name."""
    return _SCENES[name]()


def scenes() -> list[str]:
    """The names of all scenes."""
    return list(_SCENES)
