"""A disputed match: what the pages and pictures about disputes are made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.ledger import file
from sixledger.v1 import record_pb2
from support.ledgers import COMMIT_REVEAL, KEYS, SIGNER, Table, forge, head, heads, rounds

SEATS = frozenset(range(3))


def disputed() -> Table:
    """A finished match of four, of whom three sign and contribute."""
    return Table(4, rounds(2), COMMIT_REVEAL, signing=SEATS, contributing=SEATS, name="dispute").play()


def lied(table: Table) -> list[record_pb2.Record]:
    """The same as a lying server tells it: in record `seq` a card went to another row, for fewer bullheads."""
    seq, at = next(found for found in map(_to_move, enumerate(table.records)) if found is not None)

    def change(body: Any) -> None:
        body.events[at].nimmt.card_placed.row = (body.events[at].nimmt.card_placed.row + 1) % 4

    return forge(table.records, seq, change)


def _to_move(numbered: tuple[int, record_pb2.Record]) -> tuple[int, int] | None:
    """A record in the middle of the match and the event in it that puts a card at the end of a row."""
    seq, record = numbered
    if seq < 40:
        return None
    for at, event in enumerate(record_pb2.Body.FromString(record.body).events):
        placed = event.nimmt.card_placed
        if event.nimmt.HasField("card_placed") and placed.side == nimmt_pb2.SIDE_RIGHT:
            return seq, at
    return None


def prepare(folder: Path) -> Table:
    """The files that the guide speaks of: two exports, a receipt, the server's key."""
    table = disputed()
    forged = lied(table)
    (folder / "mine.ledger.jsonl").write_bytes(table.file(20))
    (folder / "yours.ledger.jsonl").write_bytes(file.dump(forged, heads(forged, 20), KEYS))
    (folder / "seat-0.head").write_text(head(table.records, 60))
    (folder / "server.vkey").write_text(f"{SIGNER.verifier_key}\n")
    return table
