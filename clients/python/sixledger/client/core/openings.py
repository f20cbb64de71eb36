"""What is sealed to a viewer, and what is opened to it later: exactly what it may have, and what fits.

With the record that ends an epoch hundreds of openings come at once. Nearly all are of ordinary commands: such a
command is played again at once, by the rules, from the bytes of its seal, and what comes out must be, byte by byte,
what the record holds and what its seals open to. So nothing has to be put together for the sake of comparing it. This
quick way may only accept, and only what the thorough way would; whatever is not exactly as it should be is left to the
thorough way, from the beginning, for the rest of the match: that one says what is wrong, and where.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from sixledger.client.core.audit import Audit, Untidy
from sixledger.client.core.recorded import Recorded, Replayed
from sixledger.client.errors import BadOpening, ForgedAct, cheated
from sixledger.ledger import keys, records
from sixledger.ledger.acts import act_fault
from sixledger.ledger.faults import LedgerFault
from sixledger.ledger.match import Match
from sixledger.ledger.records import Facts
from sixledger.v1 import record_pb2

SEAT = record_pb2.CAUSE_KIND_SEAT

#: A record, and some of its seals, ascending.
_Place: TypeAlias = tuple[int, list[int]]


class Openings:
    """The seals of one match for one viewer, and the audit of what they held."""

    def __init__(self, viewer: int | None) -> None:
        """`viewer` is a seat, or None for a spectator."""
        self.audit = Audit()
        self._viewer = viewer
        #: Seals that are not open, by epoch, ascending.
        self._closed: dict[int, list[_Place]] = {}
        #: What the signature of a sealed command must refer to: the match's recent hashes at its record.
        self._recent: dict[int, list[bytes]] = {}
        #: False once a record was not as it should be for the quick way.
        self._quick = True

    def check(self, match: Match, facts: Facts, recent: list[bytes]) -> None:
        """The last record of `match` must open exactly what the viewer may have. Raises BadOpening.

        `recent` are the match's recent hashes before it.
        """
        seals, closed = facts.seals, facts.closed
        if not seals:
            return
        viewer, seq, revealed = self._viewer, match.seq, match.seeds.known
        shut: dict[int, list[int]] = {}
        at, count = 0, len(closed)
        for index, (audience, epoch, _) in enumerate(seals):
            is_closed = at < count and closed[at] == index
            if 0 < epoch <= revealed or (viewer is not None and audience >> viewer & 1):  # as in `whole.may_open`
                if is_closed:
                    raise BadOpening(f"the opening of seal {index} is missing", seq=seq)
                continue
            if not is_closed:
                raise BadOpening(f"seal {index} is opened, and must not be yet", seq=seq)
            at += 1
            if epoch in shut:
                shut[epoch].append(index)
            else:
                shut[epoch] = [index]
        for epoch, indices in shut.items():
            self._closed.setdefault(epoch, []).append((seq, indices))
        is_sealed = count and facts.command_bytes is None and facts.owners[0] == -1
        if is_sealed and facts.body.cause.kind == SEAT:  # what a timer plays is not signed
            self._recent[seq] = recent

    def open(
        self, match: Match, received: list[Recorded], late: Sequence[record_pb2.LateOpenings]
    ) -> tuple[Recorded, ...]:
        """Take late openings into `received`: exactly those of the epochs that are revealed by now. Raises LedgerFault.

        `match` stands after its last record, which opens them; `received` ends with the one before. The result are the
        records that were opened, ascending.
        """
        revealed = match.revealed
        epochs = [epoch for epoch in self._closed if 0 < epoch <= revealed]
        if not late and not epochs:
            return ()
        due = [place for epoch in epochs for place in self._closed.pop(epoch)]
        if self._quick:
            # Of several epochs, the seals of one record are named apart: that is for the thorough way.
            opened = self._replay(match, received, due, late) if len(epochs) == 1 else None
            if opened is not None:
                for recorded in opened:
                    received[recorded.seq] = recorded
                    self._recent.pop(recorded.seq, None)
                return tuple(opened)
        _check_given(late, due, match.seq)
        if self._quick:
            self._quick, self.audit = False, Audit()  # the state of the old one may lie beyond what is wrong
        return tuple(self._merge(match, received, each) for each in sorted(late, key=lambda each: each.seq))

    # -- the quick way -----------------------------------------------------------------------------

    def _replay(
        self, match: Match, received: Sequence[Recorded], due: list[_Place], late: Sequence[record_pb2.LateOpenings]
    ) -> list[Recorded] | None:
        """The records with what was opened of them, played again; None if one is for the thorough way."""
        audit, opened, claims = self.audit, list[Recorded](), list[keys.Claim]()
        if len(late) != len(due):
            return None
        try:
            for each, (seq, indices) in zip(late, due, strict=True):
                if each.seq != seq or not self._play(match, received, seq):
                    return None
                openings = [(opening.seal, opening.salt, opening.value) for opening in each.openings]
                if len(openings) != len(indices):
                    return None
                held = received[seq]
                replayed = audit.replay(match, held, openings)
                if replayed is not None:
                    claim = self._claim(match, held, replayed)
                    if claim is not None:
                        claims.append(claim)
                    opened.append(held.reopened(each, replayed))
                    continue
                if [index for index, _, _ in openings] != indices:
                    return None
                facts = self._read_later(match, held, each)
                if not audit.play(match, facts):
                    return None
                opened.append(held.merged(each, facts))
            self._play(match, received, len(received))
        except (Untidy, LedgerFault):
            return None
        return opened if all(keys.verify(*claim) for claim in claims) else None

    def _play(self, match: Match, received: Sequence[Recorded], end: int) -> bool:
        """Play again what lies before record `end`, none of which is opened now; False if that cannot be done."""
        audit = self.audit
        while (at := audit.played) < end:
            if audit.replay(match, received[at], ()) is None and not audit.play(match, received[at].facts):
                return False
        return at == end

    def _claim(self, match: Match, held: Recorded, replayed: Replayed) -> keys.Claim | None:
        """The signature of a command, to be verified with others; None: it was not sealed, or its seat has no key.

        Raises Untidy if it cannot be right, as `act_fault` says.
        """
        if held.before.command_bytes is not None:
            return None  # it was verified when it came
        cause, signature = held.before.body.cause, replayed.signature
        key, observed = match.seats[cause.seat].public_key, cause.observed_head
        if not (key or signature or observed or cause.key_id):
            return None
        if not (key and signature) or cause.key_id != keys.key_id(key):
            raise Untidy
        if observed not in self._recent.get(held.seq, ()):
            raise Untidy
        act = (keys.ActKind.COMMAND, cause.decision, observed, cause.request_id, replayed.data)
        return keys.Claim(key, signature, keys.act_message(match.match_id, cause.seat, *act))

    # -- the thorough way --------------------------------------------------------------------------

    def _merge(self, match: Match, received: list[Recorded], late: record_pb2.LateOpenings) -> Recorded:
        held = received[late.seq]
        merged = received[late.seq] = held.merged(late, self._read_later(match, held, late))
        self._recent.pop(late.seq, None)
        return merged

    def _read_later(self, match: Match, held: Recorded, late: record_pb2.LateOpenings) -> Facts:
        """What a record says with late openings. Raises ServerCheated."""
        openings = sorted(late.openings, key=lambda opening: opening.seal)
        try:
            facts = records.read_later(match.game.schema, held.facts, openings)
            self._check_signature(match, held.seq, facts)
        except LedgerFault as fault:
            raise cheated(fault, held.seq) from fault
        return facts

    def _check_signature(self, match: Match, seq: int, facts: Facts) -> None:
        """The signature of a command that was sealed until now, as of its record."""
        recent = self._recent.get(seq)
        if recent is None or facts.command_bytes is None:
            return
        cause = facts.body.cause
        key = match.seats[cause.seat].public_key
        then = replace(match, recent=recent) if key else match
        fault = act_fault(then, cause, keys.ActKind.COMMAND, facts.command_bytes, key, facts.signature)
        if fault:
            raise ForgedAct(fault, seq=seq)


def _check_given(late: Sequence[record_pb2.LateOpenings], due: list[_Place], seq: int) -> None:
    """What is opened late must be what is due, in whatever order. Raises BadOpening."""
    given = [(each.seq, opening.seal) for each in late for opening in each.openings]
    places, wanted = set(given), {(at, index) for at, indices in due for index in indices}
    if len(places) != len(given) or places != wanted:
        wrong = sorted(places ^ wanted)
        what = f"of record {wrong[0][0]}, seal {wrong[0][1]}" if wrong else "given twice"
        raise BadOpening(f"the late openings are not those of the revealed epochs: {what}", seq=seq)
    if any(not each.openings for each in late):  # its number may be that of no record at all
        raise BadOpening("late openings of a record are named, but there are none", seq=seq)
