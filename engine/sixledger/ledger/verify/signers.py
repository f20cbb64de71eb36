"""Who vouches for a ledger: the keys of its heads, and whether they could sign when they did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sixledger.ledger.faults import BAD_SIGNATURE, LedgerFault
from sixledger.ledger.heads import SignedHead, VerifierKey
from sixledger.ledger.key_list import SignedKeyList, Trust


class Trusted:
    """Whom the verifier trusts: single keys, and origins whose key lists it has."""

    def __init__(self, trusts: Iterable[Trust] = ()) -> None:
        """Of several lists of one origin the one with the highest number counts."""
        #: Every trusted key, those of lists included.
        self.keys: list[VerifierKey] = []
        self._lists: dict[str, SignedKeyList] = {}
        for trust in trusts:
            if isinstance(trust, VerifierKey):
                self.keys.append(trust)
                continue
            origin = trust.content.origin
            held = self._lists.get(origin)
            if held is None or held.content.number < trust.content.number:
                self._lists[origin] = trust
        self.keys += [key for each in self._lists.values() for key in each.verifier_keys]

    @property
    def lists(self) -> Mapping[str, SignedKeyList]:
        """The key lists by origin."""
        return self._lists

    def check(self, signed: SignedHead) -> None:
        """Raise LedgerFault if a key in the list of its origin must not have signed a head of that time."""
        key_list = self._lists.get(signed.head.origin)
        if key_list is not None and key_list.entry(signed) is not None and (wrong := key_list.judge(signed)):
            raise LedgerFault(BAD_SIGNATURE, "heads", f"the head of count {signed.head.count}: {wrong}")

    def doubt(self, signed: SignedHead) -> str:
        """Why a head proves nothing by itself, although its key had not yet been compromised; empty: it does."""
        key_list = self._lists.get(signed.head.origin)
        return key_list.in_doubt(signed) if key_list is not None else ""

    def vouches(self, signed: SignedHead) -> bool:
        """True if a trusted key signed the head."""
        return any(signed.signed_by(key) for key in self.keys)


def authenticate(
    trusted: Trusted, heads: Sequence[SignedHead], receipts: Sequence[SignedHead]
) -> tuple[bool, list[str]]:
    """Whether somebody trusted vouches for all records, and what remains in doubt, in words.

    `heads` are all heads, ascending, `receipts` those among them that the reader kept: for a key that was stolen
    later these count, as no thief can have put them there. Raises LedgerFault if the last head is a stranger's.
    """
    if not trusted.keys or not heads:
        return False, []
    last = heads[-1].head.count
    vouched = [signed for signed in heads if trusted.vouches(signed)]
    if not vouched or vouched[-1].head.count < last:
        raise _stranger(trusted, heads[-1], vouched)
    proven = [signed.head.count for signed in vouched if not trusted.doubt(signed) or signed in receipts]
    reached = max(proven, default=0)
    if reached == last:
        return True, []
    doubt = trusted.doubt(vouched[-1])
    if reached:
        doubt += f"; the first {reached} records are vouched for otherwise"
    return False, [doubt]


#: Origins of trusted keys that a message names.
_NAMED = 3


def _stranger(trusted: Trusted, last: SignedHead, vouched: Sequence[SignedHead]) -> LedgerFault:
    """The fault of a last head that no trusted key signed, with what the trusted keys do vouch for."""
    message = "the last head is not signed by a trusted key"
    key_list = trusted.lists.get(last.head.origin)
    if key_list is not None:
        message += f": its key {last.key_hash.hex()} is not in key list {key_list.content.number} of {last.head.origin}"
    if not vouched:
        origins = sorted({key.origin for key in trusted.keys})
        if last.head.origin not in origins:
            several = ", …" if len(origins) > _NAMED else ""
            message += f": it is of {last.head.origin}, the trusted keys are of {', '.join(origins[:_NAMED])}{several}"
        return LedgerFault(BAD_SIGNATURE, "heads", message)
    known = vouched[-1]
    if key_list is None:
        message += f" but by {last.key_hash.hex()}. If {last.head.origin} has changed its key, its key list says so"
    message += f"; the trusted key {known.key_hash.hex()} vouches for the first {known.head.count} records"
    fault = LedgerFault(BAD_SIGNATURE, "heads", message)
    fault.seq = known.head.count
    return fault
