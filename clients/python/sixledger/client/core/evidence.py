"""What a client keeps of a lie: what was believed until then, every signed head, and what was said last.

The signed heads are the proof against whoever signed them: `sixledger dispute LEDGER --receipt HEAD` takes them,
together with a ledger that the service shows now. The ledger of what was believed goes with it as `--export`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sixledger.client.files import write_private
from sixledger.engine.registry import Registry
from sixledger.ledger import file
from sixledger.ledger.heads import BadNote, SignedHead, VerifierKey
from sixledger.v1 import record_pb2

_FORMAT = "sixledger-evidence/1"


@dataclass(frozen=True, slots=True)
class Told:
    """What the service said when it was caught; empty where it said nothing of the kind."""

    record: record_pb2.Record | None = field(default=None, repr=False)
    late_openings: tuple[record_pb2.LateOpenings, ...] = field(default=(), repr=False)
    #: A signed note, as it came.
    head: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A lie and what shows it to be one: `evidence` of a ServerCheated, and of the table that raised it.

    Fields: `match_id`, the pinned `key` of the origin, `viewer` (`spectator` or `seat:N`); `error`, `message`,
    `verdict`, `layer` and `seq` as the error has them; `records`, what was believed, from 0 on, with the viewer's
    openings; `heads`, the signed heads that fit them, by number of records; `contradicting`, those that do not; `told`,
    what the service said last: `record`, `late_openings`, `head`. It holds what the viewer could see, the own hand for
    example.
    """

    match_id: bytes
    #: The pinned key of the origin.
    key: VerifierKey
    #: `spectator` or `seat:N`.
    viewer: str
    #: Class and text of the error, its verdict (`TAMPERED`, …), its layer, and the record at which it shows.
    error: str
    message: str
    verdict: str
    layer: str
    seq: int | None
    #: What was believed, from record 0 on, with the openings of the viewer.
    records: tuple[record_pb2.Record, ...] = field(repr=False)
    #: The signed heads that were believed, by number of records, ascending.
    heads: Mapping[int, str] = field(repr=False)
    #: Signed heads that contradict what was believed.
    contradicting: tuple[str, ...] = field(repr=False)
    told: Told = field(repr=False)
    registry: Registry | None = field(default=None, repr=False)
    #: All keys of the origin that are trusted, if it had several.
    all_keys: tuple[VerifierKey, ...] = ()

    @property
    def last_head(self) -> str:
        """The last signed head of what was believed; empty if none came."""
        counts = [count for count in self.heads if count <= len(self.records)]
        return self.heads[max(counts)] if counts else ""

    def ledger(self) -> bytes:
        """What was believed as a ledger file, up to the last signed head; empty if there is no such head."""
        notes = {count: note for count, note in self.heads.items() if count <= len(self.records)}
        if not notes:
            return b""
        records = self.records[: max(notes)]
        return file.dump(records, list(notes.values()), [self.key, *self.all_keys], registry=self.registry)

    def save(self, folder: str | Path) -> Path:
        """Write everything into `folder`, which is made if need be, in files with mode 0600. The result is the folder.

        `believed.ledger.jsonl`: what was believed up to its last signed head, if there was one. `head-N.txt`: the
        signed head of N records, a receipt; a second one of the same number as `head-N-2.txt`. `evidence.json`: the
        error, and what the service said, in base64. Share it after the match: it may show a hand.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        if believed := self.ledger():
            write_private(folder / "believed.ledger.jsonl", believed.decode())
        for name, note in self._receipts().items():
            write_private(folder / name, note)
        write_private(folder / "evidence.json", json.dumps(self._content(), indent=2) + "\n")
        return folder

    def _receipts(self) -> dict[str, str]:
        """The signed heads by the names of their files; what is no head of the pinned key is none."""
        files: dict[str, str] = {}
        for note in dict.fromkeys([*self.heads.values(), *self.contradicting, self.told.head]):
            try:
                signed = SignedHead.parse(note)
            except BadNote:
                continue
            if not any(signed.signed_by(key) for key in (self.key, *self.all_keys)):
                continue
            name, number = f"head-{signed.head.count}", 1
            while f"{name}{'' if number == 1 else f'-{number}'}.txt" in files:
                number += 1
            files[f"{name}{'' if number == 1 else f'-{number}'}.txt"] = note
        return files

    def _content(self) -> dict[str, object]:
        told = self.told
        return {
            "format": _FORMAT,
            "match": self.match_id.hex(),
            "origin_key": str(self.key),
            "viewer": self.viewer,
            "error": self.error,
            "message": self.message,
            "verdict": self.verdict,
            "layer": self.layer,
            "seq": self.seq,
            "believed_records": len(self.records),
            "told": {
                "record": _text(told.record.SerializeToString(deterministic=True)) if told.record is not None else "",
                "late_openings": [_text(late.SerializeToString(deterministic=True)) for late in told.late_openings],
                "head": told.head,
            },
        }


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
