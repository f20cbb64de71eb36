"""Deals that do not come from the committed seed, and seeds that are revealed wrongly."""

from __future__ import annotations

from adversary.attacks import Limit
from adversary.attempts import Evidence, Records, Strength, Told, ledger, lie, signed, story
from adversary.scenes import BOTH, Scene
from sixledger.engine.chance import Chance
from sixledger.ledger import hashing
from sixledger.ledger.keys import ActKind
from sixledger.ledger.seeds import SeedChain
from sixledger.v1 import engine_service_pb2, record_pb2
from support.forging import Liar, chain, editing, editing_secret, sign_heads
from support.ledgers import head, secret


class TwoFaced(SeedChain):
    """Shows the committed seeds, and deals from others."""

    __slots__ = ("_other",)
    _other: SeedChain

    @classmethod
    def of(cls, where: Scene) -> TwoFaced:
        """For the match of a scene."""
        match, epochs = where.table.match, where.table.match.opened.epochs
        result = cls.from_secret(secret(f"root {where.table.name}"), match.match_id, epochs)
        assert isinstance(result, cls)
        result._other = SeedChain.from_secret(secret("another seed"), match.match_id, epochs)
        return result

    def chance(self, entropy: bytes) -> Chance:
        """Chance of the other seeds."""
        return self._other.chance(entropy)

    def other(self, epoch: int) -> bytes:
        """ch[epoch] of the other seeds."""
        return self._other.element(epoch)


def shuffled(where: Scene) -> str:
    """The event that a pack is shuffled with."""
    return "pack_shuffled" if where.table.game.id == "nimmt" else "deck_shuffled"


@lie("deal-other-seed", "SEED_MISMATCH", "seeds", "base", "nifty", "forces", "piece")
def two_cards_of_the_pack_exchanged(where: Scene, records: Records) -> int:
    kind = shuffled(where)
    seq = where.find(kind)
    with editing_secret(records[seq], where.seal_of(seq, kind)) as event:
        order = getattr(getattr(event, where.table.game.id), kind).order
        if where.name == "forces":
            one, two = order[0].number, order[1].number
            order[0].number, order[1].number = two, one
            order[0].color, order[1].color = order[1].color, order[0].color
        else:
            order[0], order[1] = order[1], order[0]
    return seq


def _from_another_seed(where: Scene) -> tuple[int, Liar, TwoFaced]:
    """A whole match from another seed, in which everybody signs along."""
    seq = where.step("sealed")
    seeds = TwoFaced.of(where)
    liar = Liar.after(where.table, seq, held=BOTH)
    liar.lying_seeds = seeds
    liar.reveal(where.body(seq).cause.seat)
    return seq, liar, seeds


@story("deal-other-seed", Strength.COLLUDING, "base", "nifty", "forces")
def all_from_another_seed(where: Scene) -> Evidence:
    seq, liar, _ = _from_another_seed(where)
    liar.play()
    return signed(where, liar.records, "SEED_MISMATCH", "seeds", seq)


@story("reveal-other-seed", Strength.COLLUDING, "base", "nifty", "forces")
def all_from_another_seed_which_is_revealed(where: Scene) -> Evidence:
    """The deal fits the revealed seed; the seed does not lead to the commitment."""
    _, liar, seeds = _from_another_seed(where)
    liar.play()
    revealing = [seq for seq, record in enumerate(liar.records) if record_pb2.Body.FromString(record.body).reveals]
    for seq in revealing:
        with editing(liar.records[seq]) as body:
            for reveal in body.reveals:
                reveal.chain = seeds.other(reveal.epoch)
    return signed(where, chain(liar.records), "SEED_MISMATCH", "seeds", revealing[0])


def _revealing(where: Scene, skip: int = 0) -> int:
    return [seq for seq in range(len(where.table.records)) if where.body(seq).reveals][skip]


@lie("reveal-other-seed", "SEED_MISMATCH", "seeds", "base", "nifty", "forces", "piece", "running")
def another_seed_revealed(where: Scene, records: Records) -> int:
    seq = _revealing(where)
    with editing(records[seq]) as body:
        body.reveals[0].chain = TwoFaced.of(where).other(1)
    return seq


@lie("reveal-wrong-epoch", "SEED_MISMATCH", "seeds", "base", "nifty", "forces", "piece")
def the_seed_under_another_number(where: Scene, records: Records) -> int:
    seq = _revealing(where)
    with editing(records[seq]) as body:
        body.reveals[0].epoch += 1
    return seq


@lie("reveal-wrong-epoch", "SEED_MISMATCH", "seeds", "base")
def an_earlier_epoch_again(where: Scene, records: Records) -> int:
    seq = _revealing(where, skip=1)
    with editing(records[seq]) as body:
        body.reveals[0].epoch, body.reveals[0].chain = 1, where.table.author.seeds.element(1)
    return seq


@lie("reveal-early", "RULES_DIVERGENCE", "rules", "base")
def the_next_epoch_with_the_ended_one(where: Scene, records: Records) -> int:
    """The true seed of round 2 while it is played: whoever has it knows all hands."""
    seq = _revealing(where)
    with editing(records[seq]) as body:
        body.reveals[0].epoch, body.reveals[0].chain = 2, where.table.author.seeds.element(2)
    with editing(records[_revealing(where, skip=1)]) as body:
        body.ClearField("reveals")
    return seq


@lie("reveal-early", "RULES_DIVERGENCE", "rules", "base", "nifty", "forces", "piece")
def the_epoch_that_is_played(where: Scene, records: Records) -> int:
    seq, ended = where.command(), _revealing(where)
    with editing(records[seq]) as body:
        body.reveals.add(epoch=1, chain=where.table.author.seeds.element(1))
    with editing(records[ended]) as body:
        body.ClearField("reveals")
    return seq


@lie("reveal-never", "TAMPERED", "seeds", "base", "nifty", "forces", "piece", "running")
def an_ended_epoch_not_revealed(where: Scene, records: Records) -> int:
    seq = _revealing(where, skip=-1)
    with editing(records[seq]) as body:
        body.ClearField("reveals")
    return seq


@lie("epochs-too-few", "SEED_MISMATCH", "seeds", "base")
def one_epoch_less(where: Scene, records: Records) -> Told:
    with editing(records[0]) as body:
        body.lifecycle[0].opened.epochs -= 1
    return Told(0, found=_revealing(where, skip=-1))


@lie("epochs-too-many", "TAMPERED", "rules", "base", "nifty", "forces", "piece")
def epochs_to_choose_from(where: Scene, records: Records) -> int:
    """With more epochs than the rules need there would be a seed to spare."""
    with editing(records[0]) as body:
        body.lifecycle[0].opened.epochs += 1
    return 0


def _entropy(where: Scene, records: Records, value: bytes) -> int:
    seq = where.step("sealed")
    with editing(records[seq]) as body:
        next(step for step in body.lifecycle if step.HasField("sealed")).sealed.entropy = value
    return seq


@lie("entropy-omits-seat", "SEED_MISMATCH", "seeds", "base", "nifty", "forces", "piece")
def entropy_of_one_seat(where: Scene, records: Records) -> int:
    seats = where.table.match.seats
    given = [seats[0].contribution, *[None for _ in seats[1:]]]
    return _entropy(
        where, records, hashing.entropy(where.table.match.match_id, where.body(0).lifecycle[0].opened.commitment, given)
    )


@lie("entropy-other", "SEED_MISMATCH", "seeds", "base", "nifty", "forces", "piece", "unsigned")
def entropy_of_nobody(where: Scene, records: Records) -> int:
    return _entropy(where, records, bytes(32))


# -- what no proof reaches -------------------------------------------------------------------------


@story("pick-seed", Strength.SERVER, "unsigned", limit=Limit.PICKED_SEED)
def the_seed_was_the_best_of_many(where: Scene) -> Evidence:
    """Nobody contributed: the report says so, and more cannot be said."""
    assert not any(seat.contribution for seat in where.table.match.seats)
    return signed(where, where.records(), "VALID")


@story("contribute-last", Strength.COLLUDING, "piece", limit=Limit.PICKED_SEED)
def the_last_contribution_was_the_best_of_many(where: Scene) -> Evidence:
    seq = where.step("sealed")
    liar = Liar.after(where.table, seq, held=BOTH)
    value, seat = secret("the best of many"), where.body(seq).cause.seat
    liar.act(liar.action(seat, ActKind.CONTRIBUTION, value, contribution=value))
    liar.abort()
    return signed(where, liar.records, "VALID")


@story("withhold-contribution", Strength.COLLUDING, "base", "forces", limit=Limit.ABORT_UNTIL_SUITS)
def the_last_contribution_never_comes(where: Scene) -> Evidence:
    """Both the server and the last seat know what would be dealt."""
    liar = Liar.after(where.table, where.step("sealed"))
    liar.abort()
    return signed(where, liar.records, "VALID")


def _aborted(where: Scene) -> tuple[int, Liar]:
    seq = where.step("sealed") + 1
    liar = Liar.after(where.table, seq)
    liar.act(liar.table_action(abort=engine_service_pb2.AbortAction()))
    return seq, liar


@story("abort-until-suits", Strength.SERVER, "base", "nifty", "forces", "piece", limit=Limit.ABORT_UNTIL_SUITS)
def aborted_after_the_deal(where: Scene) -> Evidence:
    return signed(where, _aborted(where)[1].records, "VALID")


@story("forge-abort", Strength.RECEIPT, "base", "nifty", "forces", "piece")
def aborted_long_after(where: Scene) -> Evidence:
    """A match that went on is cut, and ends with an abort: a later head tells."""
    seq, liar = _aborted(where)
    data = ledger(where, liar.records, sign_heads(liar.records, seq))
    return Evidence(data, "EQUIVOCATION", "heads", seq, receipts=[head(where.table.records, seq + 1)])


@story("look-at-hands", Strength.SERVER, "base", "forces", "piece", limit=Limit.LOOKS_AT_HANDS)
def the_server_looked(where: Scene) -> Evidence:
    """It deals, so it knows: no record says what it told to whom."""
    dealt = where.table.records[where.step("sealed")]
    assert len(dealt.openings) == len(dealt.seals) > 0, "it has what it sealed"
    return signed(where, where.records(), "VALID")


@story("choose-last", Strength.COLLUDING, "base", "nifty", limit=Limit.CHOOSES_LAST)
def the_last_choice_was_made_knowing_the_others(where: Scene) -> Evidence:
    """The server opens what the other seat has sealed, and its friend plays next to that."""
    seq = where.choice(skip=1)
    liar = Liar.after(where.table, seq, held=frozenset({where.body(seq).cause.seat}))
    data = where.table.game.schema.read_command(where.other_command(seq))
    assert liar.match.decision == where.table.matches[seq - 2].decision, "the other seat has chosen, under seal"
    liar.act(liar.command(where.body(seq).cause.seat, data))
    liar.abort()
    return signed(where, liar.records, "VALID")
