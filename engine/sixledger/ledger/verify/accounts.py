"""What somebody holds of a match, and what comes of holding two such accounts against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from sixledger.ledger.faults import LedgerFault, UnusableInput
from sixledger.ledger.file import LedgerFile
from sixledger.ledger.heads import SignedHead, VerifierKey
from sixledger.ledger.verify.compare import Difference
from sixledger.ledger.verify.subject import Subject, check_chain
from sixledger.v1 import record_pb2


class Relation(StrEnum):
    """How two accounts stand to each other."""

    #: The same records; a viewer may have fewer of their sealed parts open.
    SAME = "same"
    #: The same records as far as the shorter account goes.
    PREFIX = "prefix"
    #: They contradict each other.
    DIFFERENT = "different"
    #: They are of two matches.
    OTHER_MATCH = "other_match"


@dataclass(slots=True)
class Account:
    """What somebody holds of a match."""

    name: str
    heads: Sequence[SignedHead]
    #: None: heads alone.
    ledger: LedgerFile | None = None
    #: Why the file was read only in part; empty if it was read whole.
    broken: str = ""
    subject: Subject = field(default_factory=lambda: Subject(()))
    #: What is wrong with the chain of the records, behind the last intact one; None if nothing is.
    fault: LedgerFault | None = None

    @classmethod
    def of_ledger(cls, name: str, ledger: LedgerFile, broken: str = "") -> Account:
        """The account in a ledger file; `broken` says why there may be more than was read. Raises UnusableInput."""
        if not ledger.records:
            raise UnusableInput("the ledger has no record that can be read" + (f": {broken}" if broken else ""))
        subject, fault = Subject(ledger.records), None
        try:
            check_chain(subject)
        except LedgerFault as found:
            fault = found
        if not subject.bodies:
            raise UnusableInput(f"not even record 0 can be read: {fault.message if fault else ''}")
        return cls(name, ledger.heads, ledger, broken, subject, fault)

    @classmethod
    def of_heads(cls, name: str, heads: Sequence[SignedHead]) -> Account:
        """The account in signed heads alone."""
        return cls(name, sorted(heads, key=lambda signed: signed.head.count))

    @property
    def records(self) -> Sequence[record_pb2.Record]:
        """The records; none if there are heads alone."""
        return self.subject.records

    @property
    def intact(self) -> int:
        """How many records from the first on fit the chain."""
        return len(self.subject.bodies)

    @property
    def count(self) -> int:
        """How many records the account tells of."""
        return len(self.records) or max((signed.head.count for signed in self.heads), default=0)

    @property
    def matches(self) -> set[bytes]:
        """The matches that it is of: one, but heads may be of several."""
        return {self.subject.match_id} if self.records else {signed.head.match_id for signed in self.heads}

    @property
    def viewer(self) -> str:
        """For whom the ledger was made; empty for heads."""
        return self.ledger.viewer if self.ledger is not None else ""

    @property
    def openings(self) -> int:
        """How many sealed parts it has open."""
        return sum(len(record.openings) for record in self.records)


@dataclass(frozen=True, slots=True)
class Voucher:
    """A signed head, and the key that signed it: None if no known one did, and then it vouches for nothing."""

    signed: SignedHead
    key: VerifierKey | None
    #: True if the reader trusts the key; others came with a ledger.
    trusted: bool = False


@dataclass(slots=True)
class Comparison:
    """What comes of two accounts."""

    accounts: tuple[Account, Account]
    relation: Relation
    #: 16 bytes; empty if the accounts are of two matches.
    match_id: bytes = b""
    #: The first record that differs, None if none does or only heads tell so.
    seq: int | None = None
    #: Where it differs: path, value in the first, value in the second account.
    differences: list[Difference] = field(default_factory=list)
    #: Of each account, the signed heads that vouch for it: for the record that differs, or for its end.
    vouchers: tuple[list[Voucher], list[Voucher]] = field(default_factory=lambda: ([], []))
    #: Two heads, signed with one key, that cannot both be true: proof that its holder told two stories.
    fraud: tuple[Voucher, Voucher] | None = None
    #: What else is to be said.
    notes: list[str] = field(default_factory=list)

    @property
    def agrees(self) -> bool:
        """True if nothing in one account contradicts the other."""
        return self.relation in (Relation.SAME, Relation.PREFIX)
