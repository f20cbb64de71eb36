"""Signed heads as receipts: each is checked against the pinned key, the records and every other head."""

from __future__ import annotations

from sixledger.client.errors import BadHead, Equivocation
from sixledger.ledger.heads import BadNote, SignedHead, VerifierKey


class Receipts:
    """The heads of one match that one origin has signed, by number of records."""

    def __init__(self, match_id: bytes, key: VerifierKey) -> None:
        """Only heads signed by `key` count."""
        self.key = key
        self._match_id = match_id
        self._heads: dict[int, SignedHead] = {}

    def take(self, note: str) -> int:
        """Keep a head; the result is the number of records it vouches for. Raises BadHead or Equivocation."""
        try:
            signed = SignedHead.parse(note)
        except BadNote as error:
            raise BadHead(f"no signed head where one must be: {error}") from error
        head = signed.head
        if head.match_id != self._match_id:
            raise BadHead("the head is of another match")
        known = self._heads.get(head.count)
        if known is not None and known.note == note:
            return head.count
        if not signed.signed_by(self.key):
            raise BadHead(f"the head is not signed by the pinned key of {self.key.origin}")
        if known is not None:
            raise Equivocation(f"two different heads for {head.count} records", (known.note, note))
        self._heads[head.count] = signed
        return head.count

    def meet(self, count: int, record_hash: bytes, time_us: int) -> None:
        """Check the head of `count` records, if there is one, against the last of them. Raises BadHead."""
        signed = self._heads.get(count)
        if signed is not None and (signed.head.hash, signed.head.time_us) != (record_hash, time_us):
            raise BadHead("the signed head is not of this record", seq=count - 1)

    def note(self, count: int) -> str:
        """The head of `count` records; empty if there is none."""
        signed = self._heads.get(count)
        return signed.note if signed is not None else ""

    @property
    def notes(self) -> dict[int, str]:
        """All heads by count, ascending."""
        return {count: self._heads[count].note for count in sorted(self._heads)}
