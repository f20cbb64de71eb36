"""Signed heads as receipts: each is checked against the pinned key, the records and every other head.

The latest one is kept beside the credentials of the seat, if these have a file: whoever comes back after a restart
finds out if the service has lost or rewritten what it vouched for, and can prove it.
"""

from __future__ import annotations

import logging

from sixledger.client.core.origin_keys import OriginKeys
from sixledger.client.credentials import Credentials
from sixledger.client.errors import BadCredentials, BadHead, Equivocation
from sixledger.client.files import write_private
from sixledger.ledger.heads import BadNote, SignedHead, VerifierKey, split_notes

_LOG = logging.getLogger(__name__)


class Receipts:
    """The heads of one match that one origin has signed, by number of records."""

    def __init__(self, match_id: bytes, keys: VerifierKey | OriginKeys, credentials: Credentials | None = None) -> None:
        """Only heads signed by one of the `keys`, in its time, count. Those kept beside `credentials` are taken up.

        Raises BadCredentials if their file cannot be read.
        """
        #: Who signs the heads.
        self.origin = OriginKeys.of(keys)
        self._match_id = match_id
        self._credentials = credentials
        self._heads: dict[int, SignedHead] = {}
        #: Counts whose head is not that of the records.
        self._misfits: set[int] = set()
        #: Heads in the file that another key has signed: they stay there.
        self._foreign: list[str] = []
        #: Number of records that the head in the file vouches for.
        self._written = 0
        self._unwritable = False
        self._restore()
        #: Number of records that the service vouched for before this process began; 0 if nothing was kept.
        self.kept = self._written

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
        if not self.origin.signed(signed):
            raise BadHead(f"the head is not signed by the pinned key of {self.origin.origin}")
        if wrong := self.origin.wrong_key(signed):
            raise BadHead(f"the head of {head.count} records: {wrong}")
        if known is not None and known.head != head:
            raise Equivocation(f"two different heads for {head.count} records", (known.note, note))
        self._heads[head.count] = signed
        if head.count > self._written:
            self._keep(signed)
        return head.count

    @property
    def key(self) -> VerifierKey:
        """The key of the origin that signs now."""
        return self.origin.current

    def meet(self, count: int, record_hash: bytes, time_us: int) -> None:
        """Check the head of `count` records, if there is one, against the last of them. Raises BadHead."""
        signed = self._heads.get(count)
        if signed is not None and (signed.head.hash, signed.head.time_us) != (record_hash, time_us):
            self._misfits.add(count)
            raise BadHead("the signed head is not of this record", seq=count - 1)

    def note(self, count: int) -> str:
        """The head of `count` records; empty if there is none."""
        signed = self._heads.get(count)
        return signed.note if signed is not None else ""

    @property
    def notes(self) -> dict[int, str]:
        """All heads by count, ascending."""
        return {count: self._heads[count].note for count in sorted(self._heads)}

    @property
    def latest(self) -> str:
        """The head that vouches for most records; empty if none came."""
        return self._heads[max(self._heads)].note if self._heads else ""

    # -- the file ----------------------------------------------------------------------------------

    def _restore(self) -> None:
        path = self._credentials.receipt_path if self._credentials is not None else None
        if path is None or not path.exists():
            return
        try:
            notes = split_notes(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:  # BadNote is a ValueError, as is what cannot be decoded
            raise BadCredentials(f"{path} holds no signed heads: move it away to go on without ({error})") from None
        for note in notes:
            signed = SignedHead.parse(note)
            if signed.head.match_id != self._match_id or not self.origin.was_good(signed):
                self._foreign.append(note)
                continue
            self._heads[signed.head.count] = signed
            self._written = max(self._written, signed.head.count)

    def _keep(self, signed: SignedHead) -> None:
        """Write the newest head. A disk that is full must not end a match: the heads are in memory as well."""
        path = self._credentials.receipt_path if self._credentials is not None else None
        if path is None:
            return
        try:
            write_private(path, "\n".join([*self._foreign, signed.note]), durable=False)
        except OSError as error:
            if not self._unwritable:
                _LOG.warning("the signed heads of a match are not kept: %s: %s", path, error.strerror)
            self._unwritable = True
        else:
            self._written, self._unwritable = signed.head.count, False

    @property
    def highest(self) -> int:
        """The most records that a head vouches for; 0 if none came."""
        return max(self._heads, default=0)

    def believed(self) -> dict[int, str]:
        """The heads by count, ascending, without those that do not fit the records."""
        return {count: note for count, note in self.notes.items() if count not in self._misfits}

    def doubted(self) -> tuple[str, ...]:
        """The heads that do not fit the records."""
        return tuple(self._heads[count].note for count in sorted(self._misfits))
