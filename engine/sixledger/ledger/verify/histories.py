"""Two accounts of one match side by side: the same history, one that ends earlier, or another one.

Whether the rules were kept is for the verifier; here it matters whether two people were told the same, and if not,
who signed what.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import groupby

from sixledger.engine.registry import Registry
from sixledger.engine.schema import Schema
from sixledger.ledger.faults import LedgerFault, UnusableInput
from sixledger.ledger.folding import begin
from sixledger.ledger.heads import SignedHead, b64
from sixledger.ledger.key_list import Trust
from sixledger.ledger.verify import unlike
from sixledger.ledger.verify.accounts import Account, Comparison, Relation, Voucher
from sixledger.ledger.verify.compare import MAX_DIFFERENCES, Difference, text
from sixledger.ledger.verify.rerun import CONFUSED
from sixledger.ledger.verify.signers import Trusted
from sixledger.ledger.verify.subject import fits
from sixledger.v1 import record_pb2


def compare_accounts(
    first: Account,
    second: Account,
    *,
    trusted: Iterable[Trust] = (),
    registry: Registry | None = None,
) -> Comparison:
    """Compare two accounts. `trusted` are keys, or key lists of origins, that the reader knows.

    The keys in the ledgers are used as well, but say nothing about who holds them.

    Raises UnusableInput if there is nothing to compare: heads of different counts, and no ledger.
    """
    common = first.matches & second.matches
    if not common:
        return Comparison((first, second), Relation.OTHER_MATCH)
    match_id = min(common)
    accounts = tuple(_of_match(account, match_id) for account in (first, second))
    return _Comparer((accounts[0], accounts[1]), match_id, Trusted(trusted), registry).result()


def _of_match(account: Account, match_id: bytes) -> Account:
    """The account without the heads of other matches."""
    if account.records:
        return account
    return Account(account.name, [signed for signed in account.heads if signed.head.match_id == match_id])


class _Comparer:
    """One comparison of two accounts of one match."""

    def __init__(
        self,
        accounts: tuple[Account, Account],
        match_id: bytes,
        trusted: Trusted,
        registry: Registry | None,
    ) -> None:
        self._accounts = accounts
        self._registry = registry
        known = [key for account in accounts if account.ledger is not None for key in account.ledger.keys]
        self._keys = list(dict.fromkeys([*trusted.keys, *known]))
        self._trusted = trusted
        self._found = Comparison(accounts, Relation.SAME, match_id)
        #: Every head of either account, by count.
        heads = {signed.note: signed for account in accounts for signed in account.heads}.values()
        of_match = [signed for signed in heads if signed.head.match_id == match_id]
        self._vouchers = [self._voucher(signed) for signed in sorted(of_match, key=lambda signed: signed.head.count)]

    def result(self) -> Comparison:
        """Compare."""
        found, (first, second) = self._found, self._accounts
        for account in self._accounts:
            if account.broken:
                found.notes.append(f"{account.name} was read only in part: {account.broken}")
            elif account.fault is not None:
                what = f"record {account.fault.seq} is broken: {account.fault.message}"
                found.notes.append(f"{account.name} does not fit itself: {what}")
        if first.records and second.records:
            self._compare_records(first, second)
        elif first.records or second.records:
            self._compare_with_heads()
        else:
            self._compare_heads()
        self._find_fraud()
        for voucher in self._vouchers:
            if voucher.key is None:
                head = voucher.signed.head
                message = f"the head of {head.count} records is signed with no known key of {head.origin}"
                found.notes.append(f"{message}: it proves nothing (give the key)")
        return found

    def _voucher(self, signed: SignedHead) -> Voucher:
        key = next((key for key in self._keys if signed.signed_by(key)), None)
        return Voucher(signed, key, key in self._trusted.keys)

    # -- ledger and ledger -------------------------------------------------------------------------

    def _compare_records(self, first: Account, second: Account) -> None:
        found = self._found
        for seq, (mine, other) in enumerate(zip(first.records, second.records, strict=False)):
            if differing := self._differ(seq, mine, other):
                found.relation, found.seq = Relation.DIFFERENT, seq
                found.differences = differing[:MAX_DIFFERENCES]
                break
        else:
            if first.count != second.count:
                found.relation = Relation.PREFIX
        for index, account in enumerate(self._accounts):
            least = found.seq + 1 if found.seq is not None else account.count
            found.vouchers[index].extend(self._vouching(account, least))
        if found.relation is not Relation.DIFFERENT and found.notes == []:
            self._note_misfits()

    def _note_misfits(self) -> None:
        """Heads that fit neither ledger, though both tell the same."""
        longer = max(self._accounts, key=lambda account: account.count)
        for voucher in self._vouchers:
            count = voucher.signed.head.count
            if voucher.key is not None and count <= longer.intact and not fits(longer.subject, voucher.signed):
                self._found.relation = Relation.DIFFERENT
                self._found.notes.append(f"a signed head of {count} records fits neither ledger")

    def _vouching(self, account: Account, least: int) -> list[Voucher]:
        """The properly signed heads that vouch for at least `least` records of the account as they stand there."""
        return [
            voucher
            for voucher in self._vouchers
            if voucher.key is not None and voucher.signed.head.count >= least and fits(account.subject, voucher.signed)
        ]

    def _differ(self, seq: int, mine: record_pb2.Record, other: record_pb2.Record) -> list[Difference]:
        """Where two records differ; openings and readable copies of them count as well."""
        found = unlike.differ(self._found.match_id, seq, mine, other, self._schema)
        if found or [each.seal for each in mine.openings] != [each.seal for each in other.openings]:
            return found
        copies = [account.ledger.shown[seq] for account in self._accounts if account.ledger is not None]
        return [] if copies[0] == copies[1] else [("shown", text(copies[0]), text(copies[1]))]

    @cached_property
    def _schema(self) -> Schema | None:
        """What the records are written in; None if this build does not know the game."""
        try:
            return begin(self._accounts[0].records[0], self._registry).game.schema
        except (LedgerFault, *CONFUSED):
            return None

    # -- heads -------------------------------------------------------------------------------------

    def _compare_with_heads(self) -> None:
        """One account is a ledger, the other heads alone."""
        found = self._found
        at = 0 if self._accounts[0].records else 1
        ledger, heads = self._accounts[at], self._accounts[1 - at]
        found.vouchers[at].extend(self._vouching(ledger, 1))
        notes = {signed.note for signed in heads.heads}
        given = [each for each in self._vouchers if each.signed.note in notes and each.key is not None]
        found.vouchers[1 - at].extend(given)
        if not given:
            raise UnusableInput(f"no head of {heads.name} is signed with a known key: give the key of the server")
        misfits = [
            each for each in given if each.signed.head.count <= ledger.count and not fits(ledger.subject, each.signed)
        ]
        if misfits:
            fitting = [each.signed.head.count for each in found.vouchers[at]]
            count = misfits[0].signed.head.count
            found.relation = Relation.DIFFERENT
            since = max((each for each in fitting if each < count), default=0)
            found.notes.append(
                f"the first {count} records of {ledger.name} are not those that the head vouches for; "
                f"the first difference is among the records {since} to {count - 1}"
            )
            found.differences = self._head_differences(ledger, misfits[0], at)
        elif max(each.signed.head.count for each in given) != ledger.count:
            found.relation = Relation.PREFIX

    def _head_differences(self, ledger: Account, misfit: Voucher, at: int) -> list[Difference]:
        seq = misfit.signed.head.count - 1
        values = [b64(ledger.records[seq].hash), b64(misfit.signed.head.hash)]
        return [(f"records[{seq}].hash", values[at], values[1 - at])]

    def _compare_heads(self) -> None:
        """Both accounts are heads alone: they can be held against each other where their counts are equal."""
        found = self._found
        notes = [{signed.note for signed in account.heads} for account in self._accounts]
        by_count = [{signed.head.count: signed.head for signed in account.heads} for account in self._accounts]
        for index in (0, 1):
            found.vouchers[index].extend(
                each for each in self._vouchers if each.signed.note in notes[index] and each.key is not None
            )
        for count in sorted(by_count[0].keys() & by_count[1].keys()):
            mine, other = by_count[0][count], by_count[1][count]
            if mine != other:
                found.relation = Relation.DIFFERENT
                pairs = [("origin", mine.origin, other.origin), ("hash", b64(mine.hash), b64(other.hash))]
                pairs.append(("time_us", str(mine.time_us), str(other.time_us)))
                found.differences = [(f"head[{count}].{name}", a, b) for name, a, b in pairs if a != b]
                return
        if _fork(self._vouchers) is not None:
            found.relation = Relation.DIFFERENT
        elif not by_count[0].keys() & by_count[1].keys():
            raise UnusableInput(
                "these heads are for different numbers of records: only a ledger can tell whether they agree"
            )
        elif max(by_count[0]) != max(by_count[1]):
            found.relation = Relation.PREFIX

    # -- fraud -------------------------------------------------------------------------------------

    def _find_fraud(self) -> None:
        """Two heads of one key that cannot both be true."""
        found = self._found
        pair = _fork(self._vouchers)
        if pair is None and found.seq is not None:
            pair = next(
                ((mine, other) for mine in found.vouchers[0] for other in found.vouchers[1] if mine.key == other.key),
                None,
            )
        if pair is None and found.relation is Relation.DIFFERENT:
            pair = self._contradicted()
        if pair is not None:
            found.fraud, found.relation = pair, Relation.DIFFERENT
            if any(self._trusted.doubt(voucher.signed) for voucher in pair):
                found.notes.append("the key was stolen at some time, so it may be its thief who signed one of the two")

    def _contradicted(self) -> tuple[Voucher, Voucher] | None:
        """A signed head that a ledger contradicts, and a later one of the same key that vouches for this ledger."""
        for account in self._accounts:
            for voucher in self._vouchers:
                count = voucher.signed.head.count
                if voucher.key is None or count > account.intact or fits(account.subject, voucher.signed):
                    continue
                for later in self._vouching(account, count):
                    if later.key == voucher.key:
                        return voucher, later
        return None


def _fork(vouchers: Iterable[Voucher]) -> tuple[Voucher, Voucher] | None:
    """Two heads for one number of records that one key has signed, and that differ. `vouchers` ascend."""
    for _, group in groupby(vouchers, key=lambda each: each.signed.head.count):
        signed = [each for each in group if each.key is not None]
        for earlier in signed:
            for later in signed:
                if earlier.key == later.key and earlier.signed.head != later.signed.head:
                    return earlier, later
    return None
