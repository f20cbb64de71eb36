"""Records changed, dropped, repeated, put elsewhere, or made up."""

from __future__ import annotations

from adversary.attacks import Limit
from adversary.attempts import Evidence, Records, Strength, Told, ledger, lie, signed, story
from adversary.scenes import BOTH, SECOND, Scene
from sixledger.games.piece.v1 import piece_pb2
from sixledger.ledger import keys
from sixledger.v1 import record_pb2
from support.forging import Liar, body_of, chain, editing, editing_secret, sign_again, sign_heads, signed_act
from support.ledgers import Table, head, secret


def next_of_seat(where: Scene, seq: int) -> int:
    """The first record after `seq` that a seat which signs has caused."""
    bodies = ((at, where.body(at).cause) for at in range(seq + 1, len(where.table.records)))
    return next(at for at, cause in bodies if cause.signature or (cause.observed_head and cause.key_id))


@lie("change-hand-card", "RULES_DIVERGENCE", "rules", "base", "nifty", "forces")
def another_card_in_a_hand(where: Scene, records: Records) -> int:
    seq = where.find("hand_dealt")
    with editing_secret(records[seq], where.seal_of(seq, "hand_dealt")) as event:
        cards = getattr(event, where.table.game.id).hand_dealt.cards
        if where.name == "forces":
            cards[0].number = cards[0].number % 9 + 1
        else:
            cards[0] = next(card for card in range(1, 105) if card not in cards)
    return seq


@lie("change-score", "RULES_DIVERGENCE", "rules", "base", "nifty", "forces", "piece", "running")
def another_score(where: Scene, records: Records) -> int:
    kind = {"forces": "deal_scored", "piece": "match_ended"}.get(where.name, "round_scored")
    seq = where.find(kind)
    with editing(records[seq]) as body:
        event = next(each for each in where.events(body) if each.WhichOneof("event") == kind)
        points = event.match_ended.scores if where.name == "piece" else getattr(event, kind).points
        points[0] += 1
    return seq


@lie("change-placed-row", "RULES_DIVERGENCE", "rules", "base", "nifty", "running")
def another_row(where: Scene, records: Records) -> int:
    seq = where.find("card_placed")
    with editing(records[seq]) as body:
        event = next(each for each in where.events(body) if each.WhichOneof("event") == "card_placed")
        event.card_placed.row = (event.card_placed.row + 1) % 4
    return seq


@lie("change-placed-row", "RULES_DIVERGENCE", "rules", "piece")
def another_stack(where: Scene, records: Records) -> int:
    seq = where.find("card_placed", skip=1)
    with editing(records[seq]) as body:
        event = next(each for each in where.events(body) if each.WhichOneof("event") == "card_placed")
        event.card_placed.where = event.card_placed.where % 3 + 1
    return seq


@lie("change-timestamp", "BAD_SIGNATURE", "rules", "base", "nifty", "forces", "piece")
def another_time(where: Scene, records: Records) -> Told:
    """The next seat that signs has signed over another history than this one."""
    seq = where.command()
    for record in records[seq:]:
        with editing(record) as body:
            body.time_us += 1
    return Told(seq, found=next_of_seat(where, seq))


@story("change-timestamp", Strength.SERVER, "unsigned", limit=Limit.FALSE_CLOCKS)
def another_time_where_nobody_signs(where: Scene) -> Evidence:
    records = where.records()
    for record in records[5:]:
        with editing(record) as body:
            body.time_us += SECOND
    return signed(where, chain(records), "VALID")


@lie("change-public-command", "BAD_SIGNATURE", "rules", "forces", "piece")
def another_public_command(where: Scene, records: Records) -> int:
    seq = where.choice()
    with editing(records[seq]) as body:
        body.command = where.other_command(seq)
    return seq


@lie("change-public-command", "RULES_DIVERGENCE", "rules", "forces", "piece", strength=Strength.COLLUDING)
def another_public_command_signed_by_its_seat(where: Scene, records: Records) -> int:
    seq = where.choice()
    seat = where.body(seq).cause.seat
    sign_again(records[seq], where.table.key(seat), where.other_command(seq))
    return seq


@lie("change-sealed-command", "BAD_SIGNATURE", "rules", "base", "nifty")
def another_sealed_command(where: Scene, records: Records) -> int:
    seq = where.choice()
    with editing_secret(records[seq], 0) as sealed:
        sealed.command = where.other_command(seq)
    return seq


@lie("change-sealed-command", "RULES_DIVERGENCE", "rules", "base", "nifty", strength=Strength.COLLUDING)
def another_sealed_command_signed_by_its_seat(where: Scene, records: Records) -> int:
    seq = where.choice()
    seat = where.body(seq).cause.seat
    sign_again(records[seq], where.table.key(seat), where.other_command(seq))
    return seq


def _replayed(where: Scene, held: frozenset[int]) -> tuple[int, Liar]:
    """The match played on by a liar from a changed choice on, with all that follows from it by the rules."""
    seq = where.choice(seat=min(held, default=0), skip=1)
    liar = Liar.after(where.table, seq, held=held)
    command = where.other_command(seq)
    data = where.table.game.schema.read_command(command)
    liar.act(liar.command(where.body(seq).cause.seat, data))
    while not liar.match.over:
        liar.play_one()
    return seq, liar


@story("change-public-command", Strength.COLLUDING, "forces", "piece")
@story("change-sealed-command", Strength.COLLUDING, "base", "nifty")
def another_choice_and_all_that_follows(where: Scene) -> Evidence:
    """Seat 0 is in it, and its other choice is legal; the first act that is invented for seat 1 is not signed by it."""
    seq, liar = _replayed(where, frozenset({0}))
    found = next(at for at in range(seq, len(liar.records)) if body_of(liar.records[at]).cause.seat == 1)
    return signed(where, liar.records, "BAD_SIGNATURE", "rules", found)


@story("rewrite-with-all-keys", Strength.COLLUDING, "base", "nifty", "forces", "piece", limit=Limit.EVERYBODY_COLLUDES)
def all_keys(where: Scene) -> Evidence:
    _, liar = _replayed(where, BOTH)
    return signed(where, liar.records, "VALID")


@story("rewrite-with-all-keys", Strength.RECEIPT, "base", "nifty", "forces", "piece")
def all_keys_and_a_head(where: Scene) -> Evidence:
    """A spectator who kept one head is enough."""
    seq, liar = _replayed(where, BOTH)
    data = ledger(where, liar.records, sign_heads(liar.records, seq))
    return Evidence(data, "EQUIVOCATION", "heads", seq, receipts=[head(where.table.records, seq + 1)])


# -- whole records ---------------------------------------------------------------------------------


@lie("drop-record", "BAD_SIGNATURE", "rules", "base", "nifty", "forces", "piece")
def one_record_less(where: Scene, records: Records) -> Told:
    """The next act was signed by somebody who had seen the record; it may answer a decision that is not open yet."""
    seq = where.command(where=lambda at: where.body(at + 1).cause.seat in where.table.signing)
    del records[seq]
    same = where.body(seq).cause.decision == where.body(seq + 1).cause.decision
    return Told(seq, "BAD_SIGNATURE" if same else "ILLEGAL_COMMAND", "rules")


@story("drop-record", Strength.SERVER, "unsigned")
def one_record_less_where_nobody_signs(where: Scene) -> Evidence:
    records = where.records()
    seq = where.command()
    del records[seq]
    return signed(where, chain(records), "RULES_DIVERGENCE", "rules", seq)


@lie("repeat-record", "ILLEGAL_COMMAND", "rules", "base", "nifty", "forces", "piece")
def one_record_twice(where: Scene, records: Records) -> int:
    seq = where.command()
    records.insert(seq + 1, record_pb2.Record.FromString(records[seq].SerializeToString()))
    return seq + 1


@lie("reorder-records", "BAD_SIGNATURE", "rules", "base", "nifty", "forces", "piece")
def two_records_the_other_way_round(where: Scene, records: Records) -> Told:
    seq = where.command(where=lambda at: where.body(at + 1).cause.seat in where.table.signing)
    records[seq], records[seq + 1] = records[seq + 1], records[seq]
    times = [body_of(records[at]).time_us for at in (seq, seq + 1)]
    for at, time_us in zip((seq, seq + 1), sorted(times), strict=True):
        with editing(records[at]) as body:
            body.time_us = time_us
    same = where.body(seq).cause.decision == where.body(seq + 1).cause.decision
    return Told(seq, "BAD_SIGNATURE" if same else "ILLEGAL_COMMAND", "rules")


@story("insert-record", Strength.EDIT)
@story("insert-record", Strength.SERVER)
def a_record_of_another_match(where: Scene) -> Evidence:
    records = where.records()
    records.insert(8, Table(name="stranger").play(2).records[4])
    return signed(where, chain(records), "TAMPERED", "chain", 8)


@story("insert-record", Strength.SERVER, "base", "nifty", "forces", "piece")
def a_made_up_move(where: Scene) -> Evidence:
    """It fits the rules in everything, but the server has no key of the seat."""
    seq = where.choice()
    liar = Liar.after(where.table, seq)
    seat = where.body(seq).cause.seat
    liar.act(liar.command(seat, where.legal(seq)[-1]))
    return signed(where, liar.records, "BAD_SIGNATURE", "rules", seq)


@story("play-for-unsigned-seat", Strength.SERVER, "unsigned", "forces", limit=Limit.UNSIGNED_SEATS)
def a_made_up_move_of_a_seat_without_key(where: Scene) -> Evidence:
    seat = 0 if where.name == "unsigned" else 2
    seq = where.command(seat=seat, where=lambda at: len(where.legal(at)) > 1)
    liar = Liar.after(where.table, seq)
    data = where.table.game.schema.read_command(where.other_command(seq))
    liar.act(liar.command(seat, data))
    liar.abort()
    return signed(where, liar.records, "VALID")


def _cut(where: Scene) -> tuple[int, Records]:
    seq = where.command(skip=6)
    return seq, where.records()[:seq]


@story("truncate", Strength.EDIT, "base", "forces", "piece")
def the_last_records_cut(where: Scene) -> Evidence:
    seq, records = _cut(where)
    return Evidence(ledger(where, records, where.table.heads()), "TRUNCATED", "heads", seq)


@story("truncate", Strength.EDIT, "base")
def cut_at_an_earlier_head(where: Scene) -> Evidence:
    """The heads of a file are public: somebody with the last head in hand still knows."""
    seq, records = _cut(where)
    data = ledger(where, records, [head(where.table.records, seq)])
    return Evidence(data, "TRUNCATED", "heads", seq, receipts=where.table.heads())


@story("truncate", Strength.SERVER, "base", limit=Limit.UNSEEN_HEADS)
def the_last_records_cut_and_signed(where: Scene) -> Evidence:
    return signed(where, _cut(where)[1], "INCOMPLETE")


@story("truncate", Strength.RECEIPT, "base", "forces", "piece")
def the_last_records_cut_and_somebody_has_a_head(where: Scene) -> Evidence:
    seq, records = _cut(where)
    data = ledger(where, records, sign_heads(records))
    return Evidence(data, "TRUNCATED", "heads", seq, receipts=[head(where.table.records, seq + 1)])


# -- commands that belong elsewhere ----------------------------------------------------------------


def put_signature(where: Scene, records: Records, seq: int, signature: bytes) -> None:
    """Give the command of a record another signature, where it had one."""
    if where.table.records[seq].openings and not where.body(seq).cause.signature:
        with editing_secret(records[seq], 0) as sealed:
            sealed.signature = signature
    else:
        with editing(records[seq]) as body:
            body.cause.signature = signature


def command_of(where: Scene, seq: int) -> bytes:
    """The bytes of the whole command of a record."""
    body = where.body(seq)
    if body.cause.signature or not where.table.records[seq].openings:
        return body.command
    return record_pb2.SealedCommand.FromString(where.table.records[seq].openings[0].value).command


@lie("command-other-match", "BAD_SIGNATURE", "rules", "base", "nifty", "forces", "piece")
def signed_for_another_match(where: Scene, records: Records) -> int:
    """The seat uses one key in two matches, against all advice, and plays the same card in both."""
    seq = where.choice()
    key, other = where.table.key(where.body(seq).cause.seat), secret("another match")[:16]
    signature = signed_act(records[seq], key, keys.ActKind.COMMAND, command_of(where, seq), other)
    put_signature(where, records, seq, signature)
    return seq


@lie("command-other-seat", "BAD_SIGNATURE", "rules", "base", "nifty", "forces", "piece")
def given_by_another_seat(where: Scene, records: Records) -> int:
    seq = where.choice()
    with editing(records[seq]) as body:
        body.cause.seat = 1 - body.cause.seat
    return seq


@lie("command-other-seat", "ILLEGAL_COMMAND", "rules", "forces", "piece", strength=Strength.COLLUDING)
def out_of_turn(where: Scene, records: Records) -> int:
    """It is not the turn of the seat, which signs all the same."""
    seq = where.command(where=lambda at: len(where.table.matches[at - 1].to_act) == 1, seat=0)
    with editing(records[seq]) as body:
        body.cause.seat = 1
    sign_again(records[seq], where.table.key(1), where.body(seq).command)
    return seq


@lie("command-other-decision", "BAD_SIGNATURE", "rules", "base", "nifty", "forces", "piece")
def answers_another_decision(where: Scene, records: Records) -> int:
    seq = where.choice()
    with editing(records[seq]) as body:
        body.cause.decision += 1
    return seq


@lie(
    "command-other-decision",
    "ILLEGAL_COMMAND",
    "rules",
    "base",
    "nifty",
    "forces",
    "piece",
    strength=Strength.COLLUDING,
)
def answers_another_decision_and_is_signed(where: Scene, records: Records) -> int:
    seq = where.choice()
    seat = where.body(seq).cause.seat
    with editing(records[seq]) as body:
        body.cause.decision += 1
    sign_again(records[seq], where.table.key(seat), command_of(where, seq))
    return seq


@lie("repeat-request", "ILLEGAL_COMMAND", "rules", "base", "nifty", "forces", "piece", strength=Strength.COLLUDING)
def two_commands_under_one_request_id(where: Scene, records: Records) -> int:
    first = where.choice(seat=0)
    seq = where.choice(seat=0, skip=1)
    with editing(records[seq]) as body:
        body.cause.request_id = where.body(first).cause.request_id
    sign_again(records[seq], where.table.key(0), command_of(where, seq))
    return seq


@lie("illegal-command", "ILLEGAL_COMMAND", "rules", "base", "forces", "piece", strength=Strength.COLLUDING)
def what_the_seat_does_not_have(where: Scene, records: Records) -> int:
    """A card that the seat has played already; a stack that does not exist."""
    earlier, seq = where.choice(seat=0), where.choice(seat=0, skip=2)
    command = command_of(where, earlier)
    if where.name == "piece":
        packed = where.table.game.schema.commands.pack(piece_pb2.UseAbility(ability=5))
        command = packed.SerializeToString(deterministic=True)
    sign_again(records[seq], where.table.key(0), command)
    return seq


@lie("hide-event", "RULES_DIVERGENCE", "rules", "base", "nifty", "forces", "piece")
def an_event_left_out(where: Scene, records: Records) -> int:
    seq = where.command(where=lambda at: len(where.kinds(at)) > 1)
    with editing(records[seq]) as body:
        del body.events[-1]
    return seq


@lie("hide-event", "RULES_DIVERGENCE", "rules", "base", "nifty", "forces", "piece")
def an_event_added(where: Scene, records: Records) -> int:
    seq = where.command(where=lambda at: len(where.kinds(at)) > 1)
    with editing(records[seq]) as body:
        last = body.events[-1]
        body.events.add().CopyFrom(last)
    return seq


# -- keys ------------------------------------------------------------------------------------------


@story("pass-key-on", Strength.COLLUDING, "base", limit=Limit.KEY_OWNERSHIP)
def somebody_else_plays_with_the_key(where: Scene) -> Evidence:
    """Another move than the seat's owner would have made: nothing in the ledger says who it was that signed."""
    seq = where.choice(seat=0)
    liar = Liar.after(where.table, seq, held=frozenset({0}))
    liar.act(liar.command(0, where.table.game.schema.read_command(where.other_command(seq))))
    liar.abort()
    return signed(where, liar.records, "VALID")
