"""Seals opened to something else, for somebody else, too often or not at all."""

from __future__ import annotations

from adversary.attacks import Limit
from adversary.attempts import Evidence, Records, Strength, Told, lie, signed, story
from adversary.deals import shuffled
from adversary.records import next_of_seat
from adversary.scenes import Scene
from sixledger.ledger import viewers
from sixledger.ledger.records import Parts
from support.forging import body_of, chain, editing, editing_secret, sign_heads, write
from support.ledgers import KEYS, secret

GAMES = ("base", "nifty", "forces", "piece")
HANDS = ("base", "nifty", "forces")
#: Only openings differ: no hash does, and no key makes it better.
OPENING = ("BAD_OPENING", "openings")


def _start(where: Scene) -> int:
    return where.find(shuffled(where))


@lie("open-to-other-value", *OPENING, *GAMES, commit=False, edited=OPENING)
def another_value(where: Scene, records: Records) -> int:
    seq = _start(where)
    with editing_secret(records[seq], 0) as event:
        order = getattr(getattr(event, where.table.game.id), shuffled(where)).order
        del order[0]
    return seq


@lie("open-to-other-value", *OPENING, *GAMES, commit=False, edited=OPENING)
def another_salt(where: Scene, records: Records) -> int:
    seq = _start(where)
    records[seq].openings[0].salt = secret("another salt")
    return seq


@lie("shift-salt-boundary", *OPENING, *GAMES, commit=False, edited=OPENING)
def a_byte_of_the_salt_in_the_value(where: Scene, records: Records) -> int:
    """What is hashed is the same: only the lengths say where one ends."""
    seq = _start(where)
    opening = records[seq].openings[0]
    opening.salt, opening.value = opening.salt[:-1], opening.salt[-1:] + opening.value
    return seq


@lie("shift-salt-boundary", *OPENING, *GAMES, commit=False, edited=OPENING)
def a_byte_of_the_value_in_the_salt(where: Scene, records: Records) -> int:
    seq = _start(where)
    opening = records[seq].openings[0]
    opening.salt, opening.value = opening.salt + opening.value[:1], opening.value[1:]
    return seq


@lie("swap-seals", *OPENING, *GAMES, commit=False)
def two_seals_of_a_record(where: Scene, records: Records) -> int:
    seq = _start(where)
    one, two = records[seq].seals[0], records[seq].seals[1]
    one.commitment, two.commitment = two.commitment, one.commitment
    return seq


@lie("swap-seals", *OPENING, *GAMES, commit=False)
def two_seals_with_their_openings(where: Scene, records: Records) -> int:
    """Number and place of a seal are in its commitment."""
    seq = _start(where)
    record = records[seq]
    one, two = record.seals[0], record.seals[1]
    one.commitment, two.commitment = two.commitment, one.commitment
    first, second = record.openings[0], record.openings[1]
    first.salt, first.value, second.salt, second.value = second.salt, second.value, first.salt, first.value
    return seq


@lie("swap-seals", "TAMPERED", "openings", *HANDS, "running")
def two_hands_with_seals_made_anew(where: Scene, records: Records) -> int:
    """Each hand names its seat, and so does the public part."""
    seq = where.find("hand_dealt")
    at = where.seal_of(seq, "hand_dealt")
    first, second = records[seq].openings[at], records[seq].openings[at + 1]
    first.value, second.value = second.value, first.value
    with editing_secret(records[seq], at) as event:
        getattr(event, where.table.game.id).hand_dealt.seat = 1
    return seq


@lie("change-seal-audience", "TAMPERED", "openings", *HANDS, "running")
def a_hand_for_both(where: Scene, records: Records) -> int:
    seq = where.find("hand_dealt")
    records[seq].seals[where.seal_of(seq, "hand_dealt")].audience = 3
    return seq


@lie("change-seal-audience", "TAMPERED", "openings", *GAMES, "running")
def the_pack_for_a_seat(where: Scene, records: Records) -> int:
    seq = _start(where)
    records[seq].seals[0].audience = 1
    return seq


@lie("change-seal-audience", "TAMPERED", "openings", "base", "nifty")
def a_choice_for_the_other_seat(where: Scene, records: Records) -> int:
    seq = where.choice()
    records[seq].seals[0].audience = 3
    return seq


@lie("change-seal-epoch", "TAMPERED", "openings", "base")
def for_the_round_before(where: Scene, records: Records) -> int:
    """The pack of round 2 would be open as soon as round 1 ends."""
    seq = where.find("pack_shuffled", skip=1)
    records[seq].seals[where.seal_of(seq, "pack_shuffled")].epoch = 1
    return seq


@lie("change-seal-epoch", *OPENING, *GAMES)
def for_an_epoch_that_never_comes(where: Scene, records: Records) -> Told:
    """It would stay shut for ever: and here it is open."""
    seq = _start(where)
    records[seq].seals[0].epoch = 9
    # The first record with a seal that only the server may have open is the one, if others are public.
    parts = [Parts.of(record) for record in records]
    revealed = viewers.revealed_epoch(body_of(record) for record in records)
    assert viewers.weakest(parts, 3, revealed)[0] == viewers.OPERATOR
    return Told(seq, "TAMPERED", "openings")


@lie("secret-overrides-public", "TAMPERED", "openings", *HANDS, "running")
def the_seat_of_a_hand(where: Scene, records: Records) -> int:
    seq = where.find("hand_dealt")
    with editing_secret(records[seq], where.seal_of(seq, "hand_dealt")) as event:
        getattr(event, where.table.game.id).hand_dealt.seat = 1
    return seq


@lie("secret-overrides-public", "TAMPERED", "openings", *GAMES)
def the_size_or_number_of_a_pack(where: Scene, records: Records) -> int:
    seq = _start(where)
    with editing_secret(records[seq], 0) as event:
        pack = getattr(getattr(event, where.table.game.id), shuffled(where))
        name = {"nimmt": "round", "forces": "deal", "piece": "size"}[where.table.game.id]
        setattr(pack, name, 9)
    return seq


@lie("secret-overrides-public", "TAMPERED", "openings", "base", "nifty")
def another_kind_of_command(where: Scene, records: Records) -> int:
    """Public: a card was chosen. Under the seal: a row is taken."""
    seq = where.choice()
    with editing_secret(records[seq], 0) as sealed:
        sealed.command = b"\x12\x04\x12\x02\x08\x01"
        assert where.table.game.schema.read_command(sealed.command).DESCRIPTOR.name == "TakeRow"
    return seq


@lie("public-part-has-secret", "TAMPERED", "openings", *HANDS, "running")
def a_hand_in_the_open(where: Scene, records: Records) -> int:
    seq = where.find("hand_dealt")
    with editing_secret(records[seq], where.seal_of(seq, "hand_dealt")) as event:
        cards = list(getattr(event, where.table.game.id).hand_dealt.cards)
    with editing(records[seq]) as body:
        hand = next(each for each in where.events(body) if each.WhichOneof("event") == "hand_dealt")
        hand.hand_dealt.cards.extend(cards)
    return seq


@lie("public-part-has-secret", "TAMPERED", "openings", "base", "nifty")
def a_choice_in_the_open(where: Scene, records: Records) -> int:
    seq = where.choice()
    with editing_secret(records[seq], 0) as sealed:
        command = sealed.command
    with editing(records[seq]) as body:
        body.command = command
    return seq


# -- openings --------------------------------------------------------------------------------------


@lie("withhold-opening", *OPENING, *GAMES, edited=OPENING)
def of_the_pack(where: Scene, records: Records) -> int:
    seq = _start(where)
    del records[seq].openings[0]
    return seq


@lie("withhold-opening", *OPENING, "base", "nifty", edited=OPENING)
def of_a_choice(where: Scene, records: Records) -> int:
    seq = where.choice()
    del records[seq].openings[0]
    return seq


def _of_seat_0(where: Scene) -> Records:
    """What seat 0 has while the match runs."""
    return viewers.redact_all(where.records(), "seat:0", where.table.match.revealed)


def _running(where: Scene, records: Records, seq: int, viewer: str = "seat:0") -> Evidence:
    data = write(records, sign_heads(records), KEYS, where.table.game, viewer=viewer)
    return Evidence(data, *OPENING, seq)


def _own_hand(where: Scene) -> tuple[int, int]:
    seq = where.find("hand_dealt")
    return seq, where.seal_of(seq, "hand_dealt")


@story("withhold-opening", Strength.SERVER, "running")
def a_seat_does_not_get_its_own_hand(where: Scene) -> Evidence:
    records = _of_seat_0(where)
    seq, seal = _own_hand(where)
    kept = [opening for opening in records[seq].openings if opening.seal != seal]
    del records[seq].openings[:]
    records[seq].openings.extend(kept)
    return _running(where, records, seq)


@story("open-to-wrong-viewer", Strength.SERVER, "running")
def a_seat_gets_the_hand_of_the_other(where: Scene) -> Evidence:
    records = _of_seat_0(where)
    seq, seal = _own_hand(where)
    other = next(each for each in where.table.records[seq].openings if each.seal == seal + 1)
    records[seq].openings.add().CopyFrom(other)
    return _running(where, records, seq)


@story("open-to-wrong-viewer", Strength.SERVER, "running")
def a_spectator_gets_a_hand(where: Scene) -> Evidence:
    records = viewers.redact_all(where.records(), "spectator", where.table.match.revealed)
    seq, seal = _own_hand(where)
    records[seq].openings.add().CopyFrom(next(o for o in where.table.records[seq].openings if o.seal == seal))
    return _running(where, records, seq, "spectator")


@lie("repeat-opening", *OPENING, *GAMES, edited=OPENING)
def in_place_of_another(where: Scene, records: Records) -> int:
    seq = _start(where)
    records[seq].openings[1].CopyFrom(records[seq].openings[0])
    return seq


@story("repeat-opening", Strength.EDIT, *GAMES)
def one_more_than_there_are_seals(where: Scene) -> Evidence:
    records = where.records()
    openings = records[_start(where)].openings
    openings.add().CopyFrom(openings[-1])
    data = write(records, where.table.heads(), KEYS, where.table.game)
    return Evidence(data, "TAMPERED", "parse")


@lie("late-opening-wrong-seal", *OPENING, *GAMES, commit=False, edited=OPENING)
def the_opening_of_the_next_seal(where: Scene, records: Records) -> int:
    """As late openings come: by number of the record and the seal."""
    seq = _start(where)
    record = records[seq]
    record.openings[0].salt, record.openings[0].value = record.openings[1].salt, record.openings[1].value
    return seq


@lie("late-opening-wrong-seal", *OPENING, *GAMES, edited=OPENING, commit=False)
def an_opening_without_seal(where: Scene, records: Records) -> int:
    seq = _start(where)
    records[seq].openings[-1].seal = len(records[seq].seals)
    return seq


@lie("seal-without-secret", "TAMPERED", "openings", *GAMES)
def one_seal_more(where: Scene, records: Records) -> int:
    """Where nothing is secret, a seal would be a place for a message, or for a second value."""
    seq = where.step("joined")
    records[seq].seals.add(audience=1, epoch=1, commitment=bytes(32))
    records[seq].openings.add(seal=0, salt=secret("salt"), value=b"a message")
    return seq


@lie("drop-seal", "TAMPERED", "openings", *GAMES, "running")
def one_seal_less(where: Scene, records: Records) -> int:
    seq = _start(where)
    record = records[seq]
    del record.seals[-1]
    del record.openings[-1]
    return seq


@lie("reuse-salt", "BAD_SIGNATURE", "rules", *GAMES)
def one_salt_for_two_seals(where: Scene, records: Records) -> Told:
    """Only the server can check how salts are made; whoever signed later knows that the history is another."""
    seq = _start(where)
    records[seq].openings[1].salt = records[seq].openings[0].salt
    return Told(seq, found=next_of_seat(where, seq))


@story("reuse-salt", Strength.SERVER, "unsigned", limit=Limit.LOOKS_AT_HANDS)
def one_salt_from_the_start(where: Scene) -> Evidence:
    """It binds as well as two; that it hides less helps those alone whom the server might as well tell."""
    records = where.records()
    seq = _start(where)
    records[seq].openings[1].salt = records[seq].openings[0].salt
    records = chain(records)
    return signed(where, records, "VALID")
