"""From one key list of an origin to the next: what a list is to somebody who knows a key or an earlier list."""

from __future__ import annotations

from enum import StrEnum

from sixledger.ledger.heads import VerifierKey
from sixledger.ledger.key_list import KeyList, ListedKey, SignedKeyList, Trust


class Step(StrEnum):
    """What a list is to somebody who holds a key or an earlier list of the origin."""

    SAME = "same"
    NEWER = "newer"
    #: It has a lower number than the list held.
    OLDER = "older"
    #: It has the number of the list held and says something else: fraud, or a stolen key.
    FORKED = "forked"
    #: The keys held that signed it are compromised by its own word.
    REVOKED = "revoked"
    #: No key that is held and still has a say signed it.
    UNVOUCHED = "unvouched"
    #: It takes back what the list held says.
    REWRITTEN = "rewritten"


def step(held: Trust, new: SignedKeyList, now_us: int) -> Step:
    """What `new` is to somebody who holds `held`, at the reader's own time.

    A key has a say about its successors until it ends, by the reader's clock, or is revoked: a retired key that
    leaks later cannot replace the keys after it. Somebody who holds a bare key knows no end of it.
    """
    if isinstance(held, VerifierKey):
        entry = new.content.find(held)
        if entry is None or held not in new.signers:
            return Step.UNVOUCHED
        return Step.REVOKED if entry.is_compromised else Step.NEWER
    if not new.signers & set(held.verifier_keys):
        return Step.UNVOUCHED
    if new.content.number < held.content.number:
        return Step.OLDER
    if new.content.number == held.content.number:
        return Step.SAME if new.content == held.content else Step.FORKED
    voices = [entry for entry in map(new.content.find, _voices(held.content, now_us)) if entry is not None]
    signed = [entry for entry in voices if entry.key in new.signers]
    if all(entry.is_compromised for entry in signed):
        return Step.REVOKED if signed else Step.UNVOUCHED
    return Step.NEWER if continues(held.content, new.content) else Step.REWRITTEN


def _voices(held: KeyList, now_us: int) -> list[VerifierKey]:
    """The keys that have a say about the next list."""
    return [
        entry.key
        for entry in held.keys
        if entry.revoked_us is None and (entry.not_after_us is None or now_us < entry.not_after_us)
    ]


def continues(held: KeyList, new: KeyList) -> bool:
    """True if the list takes nothing back that the earlier one says.

    The keys are still there, in the same order. An end may come to be set, and a key revoked, but from the time of
    the earlier list on (there may have been others in between), so that no head that was signed by then becomes
    worthless; only a compromise reaches back. A revocation stays. A key may begin earlier, to stand in for a revoked
    one, and a key that had not begun may be put off.
    """
    same_keys = [entry.key for entry in held.keys] == [entry.key for entry in new.keys[: len(held.keys)]]
    if not same_keys or new.time_us < held.time_us:
        return False
    pairs = zip(held.keys, new.keys[: len(held.keys)], strict=True)
    return all(_continues(old, now, held.time_us) for old, now in pairs)


def _continues(old: ListedKey, now: ListedKey, time_us: int) -> bool:
    revoked = (now.revoked_us, now.reason) == (old.revoked_us, old.reason)
    if not revoked and not old.is_compromised:
        in_time = old.revoked_us is None and now.revoked_us is not None and now.revoked_us >= time_us
        revoked = now.is_compromised or in_time
    ends = now.not_after_us == old.not_after_us or all(
        end is None or end >= time_us for end in (old.not_after_us, now.not_after_us)
    )
    was, begins = old.not_before_us or 0, now.not_before_us or 0
    return revoked and ends and (begins <= was or was > time_us)
