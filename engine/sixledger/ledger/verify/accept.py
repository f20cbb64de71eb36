"""Accepting a ledger in which nothing is wrong, in one pass; the layers are for whoever wants to know what is.

The layers look at every record several times, because the first fault of the first layer counts. Where there is no
fault their order does not matter. So a ledger is first read as if all were right, every record with all its
checks at once. Whatever is wrong ends that, and the layers begin anew: they alone name faults.
"""

from __future__ import annotations

from google.protobuf.message import DecodeError
from sixledger.ledger import keys
from sixledger.ledger.applying import check_chain
from sixledger.ledger.faults import LedgerFault
from sixledger.ledger.records import Parts, check_openings, read_body
from sixledger.ledger.verify.attribution import Attributor
from sixledger.ledger.verify.quick import Quick, Untidy
from sixledger.ledger.verify.rerun import CONFUSED, Rerun
from sixledger.ledger.verify.subject import Subject, Unkept, check_seeds
from sixledger.v1 import record_pb2

SEAT = record_pb2.CAUSE_KIND_SEAT


def accepted(subject: Subject) -> Rerun | None:
    """The rules layer of a ledger whose chain, openings of each record, seeds and rules are right; None if not.

    Fills what those layers fill, but for the `parts` of records whose seals are all public and open. If None
    comes back, the subject is of no more use.
    """
    try:
        subject.bodies = Unkept(subject.records)
        if subject.opened is None:
            return None
        subject.take_last_reveals()
        check_seeds(subject)
        rerun = Rerun.of(subject)
        quick = Quick(rerun.match.game.schema, rerun.seeds)
        _Pass(rerun, quick).run()
    except (LedgerFault, DecodeError, keys.Untrue, *CONFUSED):
        return None
    return rerun


class _Pass:
    """One pass over the records."""

    def __init__(self, rerun: Rerun, quick: Quick) -> None:
        self._rerun, self._quick = rerun, quick
        #: False once the quick way is no use any more.
        self._is_quick = True
        rerun.verify = self._put_off

    def run(self) -> None:
        """Accept every record. Raises LedgerFault, keys.Untrue, or whatever a game raises."""
        rerun, subject, who = self._rerun, self._rerun.subject, Attributor()
        for seq, (record, body) in enumerate(zip(subject.records, subject.bodies, strict=True)):
            cause = body.cause
            kind, seat, request_id = cause.kind, cause.seat, cause.request_id
            rerun.take_request(kind, seat, request_id)
            if self._is_quick and kind == SEAT:
                try:
                    if self._quick.replay(rerun.match, record, body, cause, seat, request_id):
                        who.take_command(seq, seat)
                        continue
                except (Untidy, *CONFUSED):
                    # Whoever writes one such record can write many: only the thorough way needs no repair.
                    self._is_quick = False
                    rerun.stand_before(seq)
            self._thoroughly(record, body)
            who.take(seq, record, body, cause)
        self._quick.claims.verify()
        rerun.verify = None
        subject.attribution = who.attribution(len(subject.records))

    def _put_off(self, public_key: bytes, signature: bytes, message: bytes) -> bool:
        self._quick.claims.add(keys.Claim(public_key, signature, message))
        return True

    def _thoroughly(self, record: record_pb2.Record, body: record_pb2.Body) -> None:
        """Accept a record of any kind. Raises LedgerFault, or whatever a game raises."""
        parts = Parts.of(record)
        read_body(record, strict=False)
        check_chain(self._rerun.match, record, body, parts)
        check_openings(parts, body)
        self._rerun.subject.parts.append(parts)
        self._rerun.step(record, body)
        if self._rerun.folded:
            self._is_quick = False
