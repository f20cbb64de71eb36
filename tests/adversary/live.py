"""What honest clients do about each attack while the match is played, and the lies that only a stream can tell.

`LIVE` says it for every attack in words. `LIES` are streams that a lying server shows to one client: `tells` registers
what it alters in an honest stream, and the message that must not be believed. `BENT` are games that a lying server
plays: everything that follows is consistent and signed by all, so that only the rules and the seeds can tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from adversary.attacks import ATTACKS
from adversary.scenes import Scene
from sixledger.client import errors
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.ledger import hashing
from sixledger.ledger.heads import HeadSigner
from sixledger.v1 import match_service_pb2, record_pb2
from support.ledgers import OTHER_SIGNER, SIGNER, private_key
from support.lying import Crooked, Records, Response, head

Stream = list[Response]
Wrong = type[errors.ServerCheated]


@dataclass(frozen=True)
class Told:
    """A lie that is told to the client of `viewer` in an honest stream of a scene."""

    slug: str
    scene: str
    viewer: int | None
    #: What the client must raise, and a word of its message.
    wrong: Wrong
    says: str
    #: Alters the stream; the result is the number of the message that must not be believed.
    tell: Callable[[Scene, Stream], int] = field(repr=False)

    @property
    def id(self) -> str:
        """For pytest."""
        return f"{self.slug}-{self.tell.__name__}-{self.scene}-{self.viewer}"


LIES: list[Told] = []


def tells(
    slug: str, wrong: Wrong, says: str, scene: str = "base", viewers: tuple[int | None, ...] = (0,)
) -> Callable[[Callable[[Scene, Stream], int]], Callable[[Scene, Stream], int]]:
    """Register a lie."""
    assert slug in ATTACKS, slug

    def register(tell: Callable[[Scene, Stream], int]) -> Callable[[Scene, Stream], int]:
        LIES.extend(Told(slug, scene, viewer, wrong, says, tell) for viewer in viewers)
        return tell

    return register


EVERYBODY = (0, 1, None)

# -- the stream ----------------------------------------------------------------------------------


@tells("drop-record", errors.BrokenStream, "skips", viewers=EVERYBODY)
def a_record_left_out(_: Scene, stream: Stream) -> int:
    del stream[9]
    return 9


@tells("repeat-record", errors.BrokenStream, "repeats", viewers=EVERYBODY)
def a_record_sent_twice(_: Scene, stream: Stream) -> int:
    stream.insert(10, stream[9])
    return 10


@tells("reorder-records", errors.BrokenStream, "skips", viewers=EVERYBODY)
def two_records_the_other_way_round(_: Scene, stream: Stream) -> int:
    stream[9], stream[10] = stream[10], stream[9]
    return 9


@tells("insert-record", errors.Tampered, "hash", viewers=EVERYBODY)
def a_record_between_two(_: Scene, stream: Stream) -> int:
    inserted = Response()
    inserted.CopyFrom(stream[9])
    edit(inserted.record.record, lambda body: setattr(body.cause, "request_id", b"made up by server"[:16]))
    stream.insert(9, inserted)
    return 9


def edit(record: record_pb2.Record, change: Callable[[record_pb2.Body], object]) -> None:
    """Change the body of a record, and not its hash."""
    body = record_pb2.Body.FromString(record.body)
    change(body)
    record.body = body.SerializeToString(deterministic=True)


def chained(where: Scene, stream: Stream, seq: int) -> None:
    """Give a changed record the hash that fits it, and a signed head."""
    item = stream[seq].record
    body = record_pb2.Body.FromString(item.record.body)
    before = where.table.records[seq - 1].hash if seq else hashing.ZERO_HASH
    item.record.hash = hashing.record_hash(body.match_id, seq, before, item.record.body, item.record.seals)
    item.head = SIGNER.sign(body.match_id, seq + 1, item.record.hash, body.time_us)


@tells("truncate", errors.BadHead, "the head is of", viewers=EVERYBODY)
def everything_is_here_but_it_is_less(where: Scene, stream: Stream) -> int:
    stream[-1].caught_up.head = head(where.table.records, 20)
    return len(stream) - 1


@tells("end-too-early", errors.BrokenStream, "over", viewers=EVERYBODY)
def the_stream_ends_before_the_match(where: Scene, stream: Stream) -> int:
    ended = match_service_pb2.WatchEnded(head=head(where.table.records, 20))
    stream[20:] = [Response(ended=ended)]
    return 20


@tells("edit-readable", errors.BrokenStream, "not asked for", viewers=EVERYBODY)
def a_snapshot_that_nobody_asked_for(_: Scene, stream: Stream) -> int:
    """A view that the service made is believed by nobody."""
    stream.insert(12, Response(snapshot=match_service_pb2.WatchSnapshot()))
    return 12


@tells("unknown-fields", errors.Tampered, "unknown fields", viewers=EVERYBODY)
def a_field_that_the_schema_does_not_know(where: Scene, stream: Stream) -> int:
    stream[9].record.record.body += bytes([0xF8, 0x3F, 1])
    chained(where, stream, 9)
    return 9


@tells("header-other-match", errors.RewrittenHistory, "another match", viewers=EVERYBODY)
def another_match_from_the_start(where: Scene, stream: Stream) -> int:
    edit(stream[0].record.record, lambda body: setattr(body, "match_id", b"another match 16"))
    chained(where, stream, 0)
    return 0


# -- openings ------------------------------------------------------------------------------------


def open_at(stream: Stream, *, opened: bool, skip: int = 0) -> int:
    """A record with a seal that is open, or is not, when it arrives."""
    found = [
        seq
        for seq, item in enumerate(stream)
        if len(item.record.record.seals) and (len(item.record.record.openings) > 0) is opened
    ]
    return found[skip]


def revealing(stream: Stream) -> int:
    """The first message with late openings."""
    return next(seq for seq, item in enumerate(stream) if item.record.late_openings)


@tells("withhold-opening", errors.BadOpening, "missing", viewers=(0, 1))
def the_own_hand_is_withheld(_: Scene, stream: Stream) -> int:
    seq = open_at(stream, opened=True)
    stream[seq].record.record.openings.pop()
    return seq


@tells("withhold-opening", errors.BadOpening, "late openings", viewers=EVERYBODY)
def what_an_epoch_opens_is_withheld(_: Scene, stream: Stream) -> int:
    seq = revealing(stream)
    stream[seq].record.late_openings[0].openings.pop()
    return seq


@tells("open-to-wrong-viewer", errors.BadOpening, "must not be yet", viewers=(1, None))
def the_choice_of_another_is_shown(where: Scene, stream: Stream) -> int:
    seq = where.choice(seat=0)
    stream[seq].record.record.CopyFrom(where.table.records[seq])
    return seq


@tells("open-to-other-value", errors.BadOpening, "does not fit", viewers=(0, 1))
def another_hand_under_the_same_seal(_: Scene, stream: Stream) -> int:
    seq = open_at(stream, opened=True)
    opening = stream[seq].record.record.openings[0]
    opening.value = opening.value[:-1] + bytes([opening.value[-1] ^ 1])
    return seq


@tells("shift-salt-boundary", errors.BadOpening, "32 bytes", viewers=(0, 1))
def the_boundary_of_salt_and_value_moved(_: Scene, stream: Stream) -> int:
    seq = open_at(stream, opened=True)
    opening = stream[seq].record.record.openings[0]
    opening.salt, opening.value = opening.salt + opening.value[:1], opening.value[1:]
    return seq


@tells("repeat-opening", errors.BadOpening, "out of order", viewers=(0, 1))
def one_seal_opened_twice(_: Scene, stream: Stream) -> int:
    seq = open_at(stream, opened=True)
    openings = stream[seq].record.record.openings
    openings.add().CopyFrom(openings[0])
    return seq


@tells("late-opening-wrong-seal", errors.BadOpening, "", viewers=EVERYBODY)
def late_openings_of_two_records_exchanged(_: Scene, stream: Stream) -> int:
    seq = revealing(stream)
    one, two = (late.openings[0] for late in stream[seq].record.late_openings[:2])
    one.value, two.value, one.salt, two.salt = two.value, one.value, two.salt, one.salt
    return seq


@tells("swap-seals", errors.BadOpening, "does not fit", viewers=(0, 1))
def the_seals_of_two_hands_exchanged(where: Scene, stream: Stream) -> int:
    seq = where.find("hand_dealt")
    seals, first = stream[seq].record.record.seals, where.seal_of(seq, "hand_dealt")
    one, two = seals[first], seals[first + 1]
    one.commitment, two.commitment = two.commitment, one.commitment
    chained(where, stream, seq)
    return seq


@tells("change-seal-audience", errors.Tampered, "other seats", viewers=EVERYBODY)
def a_hand_is_for_other_seats_too(where: Scene, stream: Stream) -> int:
    seq = where.find("hand_dealt")
    stream[seq].record.record.seals[where.seal_of(seq, "hand_dealt")].audience |= 3
    chained(where, stream, seq)
    del stream[seq].record.record.openings[:]
    return seq


@tells("change-seal-epoch", errors.Tampered, "another epoch", viewers=EVERYBODY)
def a_hand_is_never_to_be_opened(where: Scene, stream: Stream) -> int:
    seq = where.find("hand_dealt")
    stream[seq].record.record.seals[where.seal_of(seq, "hand_dealt")].epoch = 0
    chained(where, stream, seq)
    return seq


# -- heads ---------------------------------------------------------------------------------------


def resigned(where: Scene, count: int, signer: HeadSigner = SIGNER, **other: Any) -> str:
    """A signed head of `count` records, with another hash, time or match if given."""
    records: Records = where.table.records
    body = where.body(count - 1)
    match_id, record_hash, time_us = (
        other.get("match", body.match_id),
        other.get("hash", records[count - 1].hash),
        other.get("time", body.time_us),
    )
    return signer.sign(match_id, count, record_hash, time_us)


@tells("two-heads", errors.Equivocation, "two different heads", viewers=EVERYBODY)
def another_head_of_the_same_records(where: Scene, stream: Stream) -> int:
    stream[-1].caught_up.head = resigned(where, len(where.table.records), hash=b"\x05" * 32)
    return len(stream) - 1


@tells("rechain-new-key", errors.BadHead, "pinned key", viewers=EVERYBODY)
def a_head_signed_with_a_new_key(where: Scene, stream: Stream) -> int:
    stream[9].record.head = resigned(where, 10, OTHER_SIGNER)
    return 9


@tells("head-longer", errors.BadHead, "the head is of", viewers=EVERYBODY)
def a_head_of_more_records_than_were_sent(where: Scene, stream: Stream) -> int:
    stream[9].record.head = resigned(where, 12)
    return 9


@tells("head-other-time", errors.BadHead, "not of this record", viewers=EVERYBODY)
def a_head_with_another_time(where: Scene, stream: Stream) -> int:
    stream[9].record.head = resigned(where, 10, time=1)
    return 9


@tells("head-other-match", errors.BadHead, "another match", viewers=EVERYBODY)
def a_head_of_another_match(where: Scene, stream: Stream) -> int:
    stream[9].record.head = resigned(where, 10, match=b"another match 16")
    return 9


@tells("head-other-origin", errors.BadHead, "pinned key", viewers=EVERYBODY)
def a_head_of_another_origin(where: Scene, stream: Stream) -> int:
    stream[9].record.head = resigned(where, 10, HeadSigner("other.example", private_key("another")))
    return 9


@tells("heads-descending", errors.BadHead, "the head is of", viewers=EVERYBODY)
def an_older_head_with_a_record(where: Scene, stream: Stream) -> int:
    stream[9].record.head = resigned(where, 8)
    return 9


@tells("no-head", errors.BadHead, "no signed head", viewers=EVERYBODY)
def no_head_where_one_must_be(_: Scene, stream: Stream) -> int:
    stream[-1].caught_up.head = ""
    return len(stream) - 1


# -- games that do not keep to their rules -------------------------------------------------------


@dataclass(frozen=True)
class Bent:
    """A crooked game of two rounds; what it does wrong shows when the round is revealed, at the latest."""

    slug: str
    wrong: Wrong
    make: Callable[[Callable[[], int]], Crooked] = field(repr=False)
    name: str = ""


BENT: list[Bent] = []
Bend = Callable[[Any, Callable[[], int]], "Iterable[Any]"]


def bends(slug: str, wrong: Wrong) -> Callable[[Bend], Bend]:
    """Register what a crooked game makes of each event; it must say when it lies, by calling its second argument."""
    assert slug in ATTACKS, slug

    def register(bend: Bend) -> Bend:
        BENT.append(Bent(slug, wrong, lambda lied: Crooked(lambda event: bend(event, lied)), bend.__name__))
        return bend

    return register


BENT.append(Bent("deal-other-seed", errors.SeedMismatch, lambda _: Crooked(own_seed=True), "another_seed"))


@bends("change-score", errors.RulesBroken)
def a_point_more(event: Any, lied: Callable[[], int]) -> Iterable[Any]:
    if isinstance(event, nimmt_pb2.RoundScored):
        event.points[0] += 1
        lied()
    yield event


@bends("change-placed-row", errors.RulesBroken)
def another_row(event: Any, lied: Callable[[], int]) -> Iterable[Any]:
    if isinstance(event, nimmt_pb2.CardPlaced) and lied() == 1:
        event.row = (event.row + 1) % 4
    yield event


@bends("wrong-result", errors.RulesBroken)
def the_other_wins(event: Any, lied: Callable[[], int]) -> Iterable[Any]:
    if isinstance(event, nimmt_pb2.MatchEnded):
        event.winners[:] = [1 - event.winners[0]]
        lied()
    yield event


@bends("change-hand-card", errors.RulesBroken)
def a_card_that_was_not_dealt(event: Any, lied: Callable[[], int]) -> Iterable[Any]:
    if isinstance(event, nimmt_pb2.HandDealt) and event.seat == 0:
        event.cards[0] = next(card for card in range(1, 105) if card not in event.cards)
        lied()
    yield event


# -- in words ------------------------------------------------------------------------------------

_AT_ONCE, _WHEN_REVEALED = (
    "at the record",
    "when its epoch is revealed, or at the next act that was signed over the truth",
)
_NEXT_ACT = "at the next act that was signed over another history"
_IN_FILE = "no file is shown during play"
_CLAIM = "it follows a list that a trusted key has signed, and stops (KeyRevoked) where only the revoked key has"
_FORGED, _RULES, _TAMPERED = "ForgedAct", "RulesBroken", "Tampered"


def _noticed(when: str, *wrong: str) -> str:
    return f"{' or '.join(wrong)} {when}"


def _unnoticed(why: str) -> str:
    return f"nothing: {why}"


#: Attack by attack: what the honest client of some seat raises and when, or why it cannot know.
LIVE: dict[str, str] = {
    "change-hand-card": _noticed(_WHEN_REVEALED, _RULES, _FORGED),
    "change-score": _noticed(_WHEN_REVEALED, _RULES, _FORGED),
    "change-placed-row": _noticed(_WHEN_REVEALED, _RULES, _FORGED),
    "change-timestamp": _noticed(_NEXT_ACT, _FORGED),
    "change-public-command": _noticed(_AT_ONCE, _FORGED, _RULES),
    "change-sealed-command": _noticed(
        "at the record for its own seat, for others when it is revealed", _FORGED, _RULES
    ),
    "drop-record": _noticed(_AT_ONCE, "BrokenStream", _FORGED, _RULES),
    "repeat-record": _noticed(_AT_ONCE, "BrokenStream", _FORGED),
    "reorder-records": _noticed(_AT_ONCE, "BrokenStream", _FORGED, _RULES),
    "insert-record": _noticed(_AT_ONCE, _TAMPERED, _FORGED),
    "truncate": _noticed("at the signed head, or after a restart by the kept one", "BadHead", "TruncatedHistory"),
    "command-other-match": _noticed(_AT_ONCE, _FORGED),
    "command-other-seat": _noticed(_AT_ONCE, _FORGED, _RULES, _TAMPERED),
    "command-other-decision": _noticed(_AT_ONCE, _RULES, _FORGED),
    "repeat-request": _noticed(_AT_ONCE, _FORGED),
    "illegal-command": _noticed(_WHEN_REVEALED, _RULES, _FORGED),
    "hide-event": _noticed(_WHEN_REVEALED, _RULES, _FORGED, _TAMPERED),
    "deal-other-seed": _noticed(_WHEN_REVEALED, "SeedMismatch", _FORGED),
    "reveal-other-seed": _noticed(_AT_ONCE, "SeedMismatch"),
    "reveal-wrong-epoch": _noticed(_AT_ONCE, "SeedMismatch"),
    "reveal-early": _noticed(_AT_ONCE, _RULES),
    "reveal-never": _noticed(_AT_ONCE, _RULES),
    "epochs-too-few": _noticed(_AT_ONCE, _TAMPERED),
    "epochs-too-many": _noticed(_AT_ONCE, _TAMPERED),
    "entropy-omits-seat": _noticed(_AT_ONCE, "SeedMismatch", "ContributionIgnored"),
    "entropy-other": _noticed(_AT_ONCE, "SeedMismatch"),
    "invent-contribution": _noticed(_AT_ONCE, _FORGED, _TAMPERED, _RULES, "ContributionIgnored"),
    "alter-contribution": _noticed(_AT_ONCE, _FORGED, "SeedMismatch", "ContributionIgnored"),
    "drop-contribution": _noticed(_AT_ONCE, "ContributionIgnored", _FORGED, "SeedMismatch", _RULES, _TAMPERED),
    "hosted-contributes": _noticed(_AT_ONCE, _RULES, _TAMPERED),
    "contribute-before-commitments": _noticed(_AT_ONCE, _RULES, _TAMPERED),
    "replace-commitment": _noticed(_AT_ONCE, _TAMPERED, _RULES),
    "reuse-contributions": _noticed(_AT_ONCE, _FORGED, "ContributionIgnored"),
    "say-withheld": _noticed(
        "at the record, by the seat itself and whoever knows the deadline",
        "ContributionIgnored",
        _RULES,
        "SeedMismatch",
    ),
    "mode-without-commitments": _noticed(_AT_ONCE, _FORGED, _TAMPERED, _RULES),
    "reuse-signature": _noticed(_AT_ONCE, _FORGED),
    "forge-signature": _noticed("at the record, for a sealed command of another when it is revealed", _FORGED),
    "strip-signature": _noticed("at the record, for a sealed command of another when it is revealed", _FORGED),
    "signature-other-payload": _noticed("at the record, for a sealed command of another when it is revealed", _FORGED),
    "signature-other-kind": _noticed(_AT_ONCE, _FORGED),
    "malleable-signature": _noticed("at the record, for a sealed command of another when it is revealed", _FORGED),
    "small-order-key": _noticed(_AT_ONCE, _FORGED, _RULES),
    "noncanonical-key": _noticed(_AT_ONCE, _FORGED, _RULES),
    "replace-seat-key": _noticed("at the record, by the seat itself", _FORGED),
    "change-key-id": _noticed("at the record, for a sealed command of another when it is revealed", _FORGED),
    "stale-observed-head": _noticed("at the record, for a sealed command of another when it is revealed", _FORGED),
    "foreign-observed-head": _noticed("at the record, for a sealed command of another when it is revealed", _FORGED),
    "open-signature": _noticed(_AT_ONCE, _TAMPERED),
    "open-to-other-value": _noticed("when it is opened", "BadOpening"),
    "shift-salt-boundary": _noticed("when it is opened", "BadOpening"),
    "swap-seals": _noticed("when they are opened", "BadOpening", _TAMPERED, _FORGED),
    "change-seal-audience": _noticed(_AT_ONCE, _TAMPERED),
    "change-seal-epoch": _noticed(_AT_ONCE, _TAMPERED),
    "secret-overrides-public": _noticed("when it is opened", _TAMPERED, _FORGED),
    "public-part-has-secret": _noticed(_AT_ONCE, _TAMPERED),
    "withhold-opening": _noticed("at the record that must open it", "BadOpening"),
    "open-to-wrong-viewer": _noticed("by whoever is shown it", "BadOpening"),
    "repeat-opening": _noticed(_AT_ONCE, "BadOpening", _FORGED),
    "late-opening-wrong-seal": _noticed("when it is opened", "BadOpening"),
    "seal-without-secret": _noticed(_AT_ONCE, _TAMPERED),
    "drop-seal": _noticed(_AT_ONCE, _TAMPERED),
    "reuse-salt": _noticed(_NEXT_ACT, _FORGED),
    "other-ruleset": _noticed(_AT_ONCE, "UnknownRuleset", _TAMPERED),
    "other-version": _noticed(_AT_ONCE, "UnknownRuleset"),
    "other-digest": _noticed(_AT_ONCE, "UnknownRuleset"),
    "change-options": _noticed("when joining, or at the record", _TAMPERED, "RewrittenHistory", _FORGED, _RULES),
    "change-mode": _noticed("when joining, or at the record", _TAMPERED, "RewrittenHistory", _FORGED, _RULES),
    "change-seats": _noticed("when joining, or at the record", _TAMPERED, "RewrittenHistory", _FORGED, _RULES),
    "forge-timer": _noticed(_AT_ONCE, _RULES),
    "timer-early": _noticed(_AT_ONCE, _RULES),
    "timer-other-seat": _noticed(_AT_ONCE, _RULES),
    "timer-other-command": _noticed("at the record, or when its epoch is revealed", _RULES),
    "command-under-timer-id": _noticed(_AT_ONCE, _FORGED, _RULES),
    "late-command": _noticed(_AT_ONCE, _RULES),
    "forge-pause": _noticed(_AT_ONCE, _TAMPERED, _FORGED, _RULES),
    "forge-abort": _noticed(_AT_ONCE, _TAMPERED, _FORGED, _RULES),
    "forge-forfeit": _noticed(_AT_ONCE, _RULES, _FORGED, _TAMPERED),
    "time-backwards": _noticed(_AT_ONCE, _TAMPERED),
    "predate-start": _noticed(_AT_ONCE, _TAMPERED, _FORGED),
    "wrong-result": _noticed("at the end, which reveals everything", _RULES),
    "resign-other-seat": _noticed(_AT_ONCE, _FORGED),
    "play-on-after-end": _noticed(_AT_ONCE, _RULES, _TAMPERED, "BrokenStream"),
    "end-too-early": _noticed(_AT_ONCE, "BrokenStream", _RULES, _TAMPERED),
    "join-twice": _noticed(_AT_ONCE, _TAMPERED, _RULES, _FORGED),
    "join-after-closing": _noticed(_AT_ONCE, _TAMPERED, _RULES, _FORGED),
    "close-twice": _noticed(_AT_ONCE, _TAMPERED, _RULES, _FORGED),
    "closed-with-other-key": _noticed(_AT_ONCE, _TAMPERED, _RULES, _FORGED),
    "close-without-a-seat": _noticed(_AT_ONCE, _TAMPERED, _RULES, _FORGED),
    "leave-for-other-seat": _noticed(_AT_ONCE, _FORGED),
    "ready-for-other-seat": _noticed(_AT_ONCE, _FORGED),
    "hide-hosting": _noticed(_AT_ONCE, _TAMPERED, _RULES, _FORGED),
    "two-histories": _noticed("when heads are compared, and " + _NEXT_ACT, "Equivocation", _FORGED),
    "two-heads": _noticed("at the second one", "Equivocation"),
    "rechain-new-key": _noticed("at the first head: the key is pinned", "BadHead", "OriginChanged"),
    "head-longer": _noticed("at the head, or at the end of the match", "BadHead"),
    "head-other-time": _noticed("at the head", "BadHead", "Equivocation"),
    "head-other-match": _noticed("at the head", "BadHead"),
    "head-other-origin": _noticed("at the head", "BadHead"),
    "heads-descending": _noticed("at the head", "BadHead"),
    "no-head": _noticed("where one must be", "BadHead"),
    "head-by-other-key": _noticed("at the head: the key is pinned", "BadHead"),
    "frame-server": _noticed("at the head, which it does not take for one of the server", "BadHead"),
    "claim-theft": _unnoticed(_CLAIM),
    "disown-history": _unnoticed(_CLAIM),
    "sign-with-stolen-key": _unnoticed("until the key list says so, what the thief signs is signed by the server"),
    "pad-lines": _unnoticed(_IN_FILE),
    "pad-fields": _unnoticed(_IN_FILE),
    "pad-spaces": _unnoticed(_IN_FILE),
    "edit-readable": _noticed("at a view that was not asked for; it computes its own", "BrokenStream"),
    "unknown-fields": _noticed("at the record, under a seal when it is opened", _TAMPERED, _FORGED),
    "duplicate-keys": _unnoticed(_IN_FILE),
    "other-base64": _unnoticed(_IN_FILE),
    "other-json": _unnoticed(_IN_FILE),
    "header-other-viewer": _unnoticed(_IN_FILE),
    "header-other-match": _noticed("at record 0", "RewrittenHistory"),
    "header-more-keys": _unnoticed(_IN_FILE),
    "cut-line": _unnoticed(_IN_FILE),
    "cut-gzip": _unnoticed(_IN_FILE),
    "look-at-hands": _unnoticed("looking leaves no trace"),
    "choose-last": _unnoticed("what somebody was told leaves no trace"),
    "censor-command": _unnoticed("its own command gets no reply, which proves nothing"),
    "delay-command": _unnoticed("its own command gets a late reply, which proves nothing"),
    "false-clock": _unnoticed("times that ascend and keep the deadlines are possible"),
    "abort-until-suits": _unnoticed("an abort is stated, its reason is not"),
    "operator-seat-as-person": _unnoticed("a key does not say who holds it"),
    "play-for-unsigned-seat": _unnoticed(
        "a seat without a key proves nothing; of its own commands it knows what it sent"
    ),
    "pass-key-on": _unnoticed("a key does not say who holds it"),
    "pick-seed": _unnoticed("the mode SERVER_ONLY says so: it refuses to contribute where it cannot"),
    "contribute-last": _unnoticed("the mode SEATS says so"),
    "withhold-contribution": _unnoticed("who withheld it is named, and the match is aborted or says that it went on"),
    "rewrite-with-all-keys": _unnoticed("nobody is left who could contradict"),
}

__all__ = ["BENT", "LIES", "LIVE"]
