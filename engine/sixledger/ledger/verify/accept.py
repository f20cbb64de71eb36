"""Accepting a ledger in which nothing is wrong, in one pass; the layers are for whoever wants to know what is.

The layers look at every record several times, because the first fault of the first layer counts. Where there is no
fault their order does not matter. So a ledger is first read as if all were right, every record with all its
checks at once. Whatever is wrong ends that, and the layers begin anew: they alone name faults.
"""

from __future__ import annotations

from google.protobuf.message import DecodeError
from sixledger.ledger import keys
from sixledger.ledger.faults import LedgerFault
from sixledger.ledger.records import Parts, check_openings, read_body
from sixledger.ledger.verify.quick import Quick, Untidy
from sixledger.ledger.verify.rerun import CONFUSED, Rerun
from sixledger.ledger.verify.subject import Subject, check_seeds
from sixledger.v1 import record_pb2

#: Signatures that wait to be verified together.
MAX_CLAIMS = 4096


def accepted(subject: Subject) -> Rerun | None:
    """The rules layer of a ledger whose chain, openings of each record, seeds and rules are right; None if not.

    Fills what those layers fill, but for the `parts` of records whose seals are all public and open. If None
    comes back, the subject is of no more use.
    """
    try:
        subject.bodies = [record_pb2.Body.FromString(record.body) for record in subject.records]
        if subject.opened is None:
            return None
        check_seeds(subject)
        rerun = Rerun.of(subject)
        _Pass(rerun).run()
    except (LedgerFault, DecodeError, Untidy, *CONFUSED):
        return None
    return rerun


class _Pass:
    """One pass over the records."""

    def __init__(self, rerun: Rerun) -> None:
        self._rerun = rerun
        self._quick: Quick | None = Quick(rerun.match.game.schema, rerun.seeds)

    def run(self) -> None:
        """Accept every record. Raises LedgerFault, or whatever a game raises."""
        rerun, subject = self._rerun, self._rerun.subject
        for seq, (record, body) in enumerate(zip(subject.records, subject.bodies, strict=True)):
            cause = body.cause
            rerun.take_request(cause)
            if not self._quickly(seq, record, body, cause):
                self._thoroughly(record, body)
        self._verify_claims()

    def _quickly(self, seq: int, record: record_pb2.Record, body: record_pb2.Body, cause: record_pb2.Cause) -> bool:
        """True if the record is an ordinary command and exactly right; the match then stands after it."""
        rerun, quick = self._rerun, self._quick
        if quick is None or not rerun.complete or rerun.folded:
            return False
        try:
            return quick.replay(rerun.match, record, body, cause)
        except (Untidy, *CONFUSED):
            # Whoever writes one such record can write many: from here on only the thorough way, which needs no repair.
            self._verify_claims()
            self._quick = None
            rerun.stand_before(seq)
            return False

    def _thoroughly(self, record: record_pb2.Record, body: record_pb2.Body) -> None:
        """Accept a record of any kind. Raises LedgerFault, or whatever a game raises."""
        parts = Parts.of(record)
        read_body(record, strict=False)
        self._rerun.match.check_chain(record, body, parts)
        check_openings(parts, body)
        self._rerun.subject.parts.append(parts)
        self._rerun.step(record, body)

    def _verify_claims(self) -> None:
        """Verify the signatures that wait for it. Raises Untidy if one does not fit."""
        if self._quick is not None and keys.first_false(self._quick.claims) is not None:
            raise Untidy
