"""What is verified: the records of one ledger and what came with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter
from typing import overload

from google.protobuf.message import DecodeError
from sixledger.engine.registry import Registry
from sixledger.ledger import hashing, viewers
from sixledger.ledger.faults import (
    BAD_OPENING,
    BAD_SIGNATURE,
    EQUIVOCATION,
    SEED_MISMATCH,
    TRUNCATED,
    LedgerFault,
    tampered,
)
from sixledger.ledger.file import LedgerFile
from sixledger.ledger.heads import MAX_TIME_US, SignedHead, VerifierKey, b64
from sixledger.ledger.records import FORMAT, Parts, check_shape, has_shape, read_body
from sixledger.ledger.seeds import SeedChain, SeedMismatch
from sixledger.ledger.verify.signers import Trusted, authenticate
from sixledger.v1 import record_pb2, replay_service_pb2


def at(fault: LedgerFault, seq: int) -> LedgerFault:
    """The fault, in record `seq`."""
    fault.seq = seq
    return fault


def differing(fault: LedgerFault, *found: tuple[str, str, str]) -> LedgerFault:
    """The fault, with what is recorded and what should be: path, recorded, expected."""
    fault.differences = list(found)
    return fault


class Unkept(Sequence[record_pb2.Body]):
    """The bodies of records, each read when it is asked for and not kept.

    To keep the bodies of a whole ledger costs as much again as to read them.
    """

    def __init__(self, records: Sequence[record_pb2.Record]) -> None:
        """Indexing and iteration raise DecodeError at a record that has no body."""
        self._records = records

    def __len__(self) -> int:
        """How many there are."""
        return len(self._records)

    @overload
    def __getitem__(self, at: int) -> record_pb2.Body: ...
    @overload
    def __getitem__(self, at: slice) -> Unkept: ...
    def __getitem__(self, at: int | slice) -> record_pb2.Body | Unkept:
        """The body of a record, or those of some."""
        if isinstance(at, slice):
            return Unkept(self._records[at])
        return record_pb2.Body.FromString(self._records[at].body)

    def __iter__(self) -> Iterator[record_pb2.Body]:
        """One after the other."""
        return map(record_pb2.Body.FromString, map(_BODY, self._records))


_BODY = attrgetter("body")


@dataclass(slots=True)
class Subject:
    """One ledger under verification. The layers fill in what they learn."""

    records: Sequence[record_pb2.Record]
    #: The heads of the file, and those that came from elsewhere.
    heads: Sequence[SignedHead] = ()
    receipts: Sequence[SignedHead] = ()
    #: Keys that may have signed the heads: those of the file, or the trusted ones.
    keys: Sequence[VerifierKey] = ()
    trusted: Trusted = field(default_factory=Trusted)
    file: LedgerFile | None = None
    registry: Registry | None = None
    #: Bodies and parts of the records that the chain layer accepted.
    bodies: Sequence[record_pb2.Body] = ()
    parts: list[Parts] = field(default_factory=list)
    #: The heads that are signed and fit the records.
    good_heads: list[SignedHead] = field(default_factory=list)
    authenticated: bool = False
    #: Every revealed seed.
    seeds: SeedChain | None = None
    #: Who caused which records, once all of them were found right.
    attribution: replay_service_pb2.Attribution | None = None
    _reveals: list[tuple[int, record_pb2.Reveal]] | None = None
    unchecked: list[str] = field(default_factory=list)

    @property
    def match_id(self) -> bytes:
        """16 bytes, once record 0 is read."""
        return self.bodies[0].match_id

    @property
    def reveals(self) -> list[tuple[int, record_pb2.Reveal]]:
        """What the accepted records reveal, each with the number of its record; complete after the chain layer."""
        if self._reveals is None:
            self._reveals = [(seq, reveal) for seq, body in enumerate(self.bodies) for reveal in body.reveals]
        return self._reveals

    def take_last_reveals(self) -> None:
        """Let `reveals` be those of the last record that has any.

        Its seed leads to all earlier ones; what the other records reveal is then seen with the rest of what they say.
        """
        last = next((seq for seq in range(len(self.bodies) - 1, -1, -1) if self.bodies[seq].reveals), 0)
        self._reveals = [(last, reveal) for reveal in self.bodies[last].reveals]

    @property
    def revealed(self) -> int:
        """The highest epoch that the accepted records reveal."""
        return max((reveal.epoch for _, reveal in self.reveals), default=0)

    @property
    def opened(self) -> record_pb2.MatchOpened | None:
        """The opening in record 0, if it has one."""
        steps = self.bodies[0].lifecycle if self.bodies else ()
        return steps[0].opened if steps and steps[0].WhichOneof("step") == "opened" else None


def check_chain(subject: Subject) -> None:
    """Bodies, numbers, hashes and clocks of all records; fills `bodies` and `parts`. Raises LedgerFault."""
    bodies: list[record_pb2.Body] = []
    subject.bodies, all_parts = bodies, subject.parts
    previous, time_us, match_id = hashing.ZERO_HASH, 0, None
    parse, parts_of, chain_hash = record_pb2.Body.FromString, Parts.of, hashing.chain_hash
    for seq, record in enumerate(subject.records):
        data, parts = record.body, parts_of(record)
        seals, _, hash_ = parts
        try:
            body = parse(data)
        except DecodeError:
            body = record_pb2.Body()  # has no format
        before, time_us = time_us, body.time_us
        if match_id is None:
            match_id = body.match_id
        # Everything at once: what exactly is wrong is asked only if something is.
        if (
            body.match_id != match_id
            or body.seq != seq
            or body.format != FORMAT
            or not before <= time_us <= MAX_TIME_US
            or len(body.cause.request_id) != 16
            or len(match_id) != 16
            or chain_hash(match_id, seq, previous, data, seals) != hash_
            or not has_shape(seals)
        ):
            raise at(_chain_fault(record, parts, match_id, seq, previous, before), seq)
        previous = hash_
        bodies.append(body)
        all_parts.append(parts)
    if subject.opened is None:
        raise at(tampered("parse", "record 0 does not open a match"), 0)


def _chain_fault(
    record: record_pb2.Record, parts: Parts, match_id: bytes, seq: int, previous: bytes, time_us: int
) -> LedgerFault:
    """What is wrong with a record of which something is."""
    try:
        body = read_body(record, strict=False)
        check_shape(parts, body)
    except LedgerFault as error:
        return error
    if body.match_id != match_id:
        fault = tampered("chain", "the record is of another match")
        return differing(fault, ("match_id", body.match_id.hex(), match_id.hex()))
    if body.seq != seq:
        fault = tampered("chain", f"record {body.seq} stands where record {seq} should")
        return differing(fault, ("seq", str(body.seq), str(seq)))
    expected = hashing.chain_hash(match_id, seq, previous, record.body, parts.seals)
    if parts.hash != expected:
        fault = tampered("chain", "the hash does not fit the record and the one before")
        return differing(fault, ("hash", b64(parts.hash), b64(expected)))
    assert body.time_us < time_us, "nothing else is left"
    fault = tampered("clocks", "the record is older than the one before")
    return differing(fault, ("time_us", str(body.time_us), f"at least {time_us}"))


def check_heads(subject: Subject) -> None:
    """Signatures of the heads, and whether they fit the records; a file must end with the head of its last record.

    Raises LedgerFault. Fills `good_heads` and `authenticated`.
    """
    heads = sorted([*subject.heads, *subject.receipts], key=lambda signed: signed.head.count)
    for signed in heads:
        if signed.head.match_id != subject.match_id:
            raise tampered("heads", "a head is of another match")
        if not any(signed.signed_by(key) for key in subject.keys):
            raise LedgerFault(
                BAD_SIGNATURE, "heads", f"the head of count {signed.head.count} is not signed by a known key"
            )
        subject.trusted.check(signed)
    # Whoever adds heads of a key of his own proves nothing against the origin, nor for it.
    strangers = [signed for signed in heads if subject.trusted.keys and not subject.trusted.vouches(signed)]
    telling = [signed for signed in heads if signed not in strangers]
    _check_forks(subject, telling)
    if len({signed.head.origin for signed in subject.heads}) > 1:
        raise tampered("heads", "the heads are of two origins")
    if any(earlier.head.count >= later.head.count for earlier, later in pairwise(subject.heads)):
        raise tampered("heads", "the heads do not ascend")
    subject.good_heads = [signed for signed in heads if fits(subject, signed)]
    misfit = next((signed for signed in telling if not fits(subject, signed)), None)
    if misfit is not None:
        raise _misfit(subject, misfit, telling)
    if (stray := next((signed for signed in strangers if not fits(subject, signed)), None)) is not None:
        message = f"the head of count {stray.head.count} does not fit the records, and no trusted key signed it"
        raise LedgerFault(BAD_SIGNATURE, "heads", message)
    if subject.file is not None and (not subject.heads or subject.heads[-1].head.count != len(subject.records)):
        fault = LedgerFault(TRUNCATED, "heads", "the ledger does not end with the head of its last record")
        raise at(fault, len(subject.records))
    subject.authenticated, doubts = authenticate(subject.trusted, heads, subject.receipts)
    subject.unchecked += doubts
    for signed in strangers:
        subject.unchecked.append(
            f"the head of count {signed.head.count} is signed by {signed.key_hash.hex()}, which is no trusted key: "
            "it fits, and proves nothing"
        )


def fits(subject: Subject, signed: SignedHead) -> bool:
    """True if a head says of the accepted records what they are."""
    head, count = signed.head, signed.head.count
    if count > len(subject.bodies):
        return False
    return head.hash == subject.records[count - 1].hash and head.time_us == subject.bodies[count - 1].time_us


def _check_forks(subject: Subject, heads: Sequence[SignedHead]) -> None:
    """Two heads of one count that differ prove that their signer told two stories."""
    for earlier, later in pairwise(heads):
        if earlier.head.count == later.head.count and earlier.head != later.head:
            message = f"two signed heads of count {later.head.count} differ"
            if not _is_one_signer(subject, earlier, later):
                message += ": they are signed by two keys, of which none is known"
                raise LedgerFault(BAD_SIGNATURE, "heads", message)
            if subject.trusted.doubt(earlier) or subject.trusted.doubt(later):
                message += "; the key of one is compromised, so it may be its thief who signed that one"
            told = (f"head[{later.head.count}].hash", b64(earlier.head.hash), b64(later.head.hash))
            raise at(differing(LedgerFault(EQUIVOCATION, "heads", message), told), later.head.count - 1)


def _is_one_signer(subject: Subject, one: SignedHead, other: SignedHead) -> bool:
    """True if whoever signed one of two heads answers for the other: trusted keys are all the origin's."""
    if subject.trusted.keys:
        return one.head.origin == other.head.origin
    return (one.head.origin, one.key_hash) == (other.head.origin, other.key_hash)


def _misfit(subject: Subject, misfit: SignedHead, heads: Sequence[SignedHead]) -> LedgerFault:
    """The fault that a properly signed head shows by not fitting the records; `heads` are all that tell something."""
    count, there = misfit.head.count, len(subject.records)
    if count > there:
        return at(
            LedgerFault(TRUNCATED, "heads", f"a signed head vouches for {count} records, there are {there}"), there
        )
    good = [signed for signed in heads if fits(subject, signed)]
    fitting = [signed.head.count for signed in good]
    # In a chain that was made anew, the first bad record is the first that no fitting head vouches for.
    first_bad = max((each for each in fitting if each < count), default=0)
    told = (f"records[{count - 1}].hash", b64(subject.records[count - 1].hash), b64(misfit.head.hash))
    if any(signed.head.count > count and _is_one_signer(subject, signed, misfit) for signed in good):
        message = f"the head of count {count} and a later one are signed for two histories"
        return at(differing(LedgerFault(EQUIVOCATION, "heads", message), told), first_bad)
    fault = tampered("heads", f"the records are not those that the signed head of count {count} vouches for")
    return at(differing(fault, told), first_bad)


def check_openings(subject: Subject) -> None:
    """Every opening fits its seal, and the openings are those of one viewer. Raises LedgerFault."""
    match_id, commitment = subject.match_id, hashing.commitment
    for seq, (seals, openings, _) in enumerate(subject.parts):
        last = -1
        for index, salt, value in openings:
            if not last < index < len(seals):
                message = f"the opening of seal {index} is out of order, repeated, or has no seal"
                raise at(LedgerFault(BAD_OPENING, "openings", message), seq)
            if len(salt) != 32:
                raise at(LedgerFault(BAD_OPENING, "openings", f"the salt of seal {index} is not 32 bytes"), seq)
            last = index
            found = commitment(match_id, seq, index, salt, value)
            if found != seals[index][2]:
                fault = LedgerFault(BAD_OPENING, "openings", f"the opening of seal {index} does not fit its commitment")
                raise at(differing(fault, (f"seals[{index}].commitment", b64(seals[index][2]), b64(found))), seq)
    check_viewer(subject)


def check_viewer(subject: Subject) -> None:
    """The ledger holds exactly the openings of the viewer it names, or of some viewer if it names none.

    Records whose seals are all public and open are the same for every viewer: their parts may be missing. Raises
    LedgerFault.
    """
    seats = min(subject.opened.seats, 64) if subject.opened else 0
    if subject.file is not None:
        name = subject.file.viewer
        try:
            viewers.parse(name)
        except ValueError as error:
            raise tampered("parse", f"the header names no viewer: {error}") from error
        for seq, parts in enumerate(subject.parts):
            if not viewers.is_complete(parts, name, subject.revealed):
                message = f"the open seals are not those that {name} may have open"
                raise at(LedgerFault(BAD_OPENING, "openings", message), seq)
    weakest, seq = viewers.weakest(subject.parts, seats, subject.revealed)
    if weakest is None:
        message = "no viewer has exactly these seals open: an opening is missing or should not be there"
        raise at(LedgerFault(BAD_OPENING, "openings", message), seq)
    if subject.file is not None and weakest != subject.file.viewer:
        raise LedgerFault(
            BAD_OPENING, "openings", f"the header names {subject.file.viewer}, but this is the ledger of {weakest}"
        )


def check_seeds(subject: Subject) -> None:
    """Every revealed seed leads to the commitment of record 0; `reveals` are collected. Raises LedgerFault."""
    opened = subject.opened
    assert opened is not None, "the chain layer came first"
    if len(opened.commitment) != 32:
        raise at(tampered("seeds", "the commitment is not 32 bytes"), 0)
    seeds = SeedChain(subject.match_id, opened.commitment)
    for seq, reveal in subject.reveals:
        try:
            if not seeds.known < reveal.epoch <= min(opened.epochs, MAX_EPOCHS):
                raise SeedMismatch(f"epoch {reveal.epoch} cannot be revealed here")
            seeds.reveal(reveal.epoch, reveal.chain)
        except SeedMismatch as error:
            raise at(LedgerFault(SEED_MISMATCH, "seeds", str(error)), seq) from error
    subject.seeds = seeds


#: Epochs of a match at most (DESIGN 5).
MAX_EPOCHS = 1000


def known_keys(file_keys: Iterable[VerifierKey], trusted: Iterable[VerifierKey]) -> list[VerifierKey]:
    """Keys of the file and trusted keys, each once."""
    return list(dict.fromkeys([*file_keys, *trusted]))
