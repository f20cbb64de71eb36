"""Origins with several keys: lists of them, and ledgers that their keys signed."""

from __future__ import annotations

from sixledger.ledger.heads import HeadSigner
from sixledger.ledger.key_list import KeyList, ListedKey, Reason, SignedKeyList
from support.ledgers import private_key

ORIGIN = "ledger.example"
#: The keys of the origin, and one of somebody else who uses its name.
A, B, C, STRANGER = (HeadSigner(ORIGIN, private_key(f"origin key {name}")) for name in "ABCX")
PRIVATE = {name: private_key(f"origin key {name}") for name in "ABCX"}
BY_NAME = {"A": A, "B": B, "C": C, "X": STRANGER}


def listed(
    name: str,
    start: int | None = None,
    end: int | None = None,
    *,
    revoked: int | None = None,
    reason: Reason = Reason.COMPROMISED,
) -> ListedKey:
    """A key of the origin in a list."""
    why = None if revoked is None else reason
    return ListedKey(BY_NAME[name].verifier_key, start, end, revoked, why)


def key_list(*entries: ListedKey, number: int = 2, time_us: int = 0, signed_by: str = "ABC") -> SignedKeyList:
    """A list of the origin, signed by the named keys as far as they are in it."""
    return SignedKeyList.sign(KeyList(ORIGIN, number, time_us, entries), [PRIVATE[name] for name in signed_by])


#: The cases of the table in docs/how-to/rotate-keys.md, in its order: life of the key that signed the last head (begin,
#: end and revocation in microseconds after that head, and the reason), whether the reader kept the head as a receipt,
#: the verdict, whether the signer is authenticated, and words of the report.
CASES: dict[str, tuple[tuple[int | None, int | None, int | None, Reason | None], bool, str, bool, str]] = {
    "valid": ((None, None, None, None), False, "VALID", True, "signed by ledger.example"),
    "not yet": ((1, None, None, None), False, "BAD_SIGNATURE", False, "was not yet valid"),
    "expired": ((None, 0, None, None), False, "BAD_SIGNATURE", False, "had expired"),
    "ends later": ((None, 1, None, None), False, "VALID", True, "signed by"),
    "revoked before": ((None, None, 0, Reason.SUPERSEDED), False, "BAD_SIGNATURE", False, "was revoked (superseded)"),
    "revoked later": ((None, None, 1, Reason.LOST), False, "VALID", True, "signed by"),
    "stolen before": ((None, None, 0, Reason.COMPROMISED), False, "BAD_SIGNATURE", False, "it proves nothing"),
    "stolen before, receipt": ((None, None, 0, Reason.COMPROMISED), True, "BAD_SIGNATURE", False, "proves nothing"),
    "stolen later": ((None, None, 1, Reason.COMPROMISED), False, "VALID", False, "only a receipt that was kept"),
    "stolen later, receipt": ((None, None, 1, Reason.COMPROMISED), True, "VALID", True, "signed by"),
}
