"""A sealed choice is betrayed by nothing in the ledger: not by what a record says, nor its size, order or number."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.message import Message
from sixledger.engine.errors import IllegalCommand
from sixledger.engine.nimmt import GAME
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb
from sixledger.ledger import records
from support.play import HonestTable

SEALING = ("base", "tactics", "logic", "tournament", "professional", "nifty", "double")


def table(name: str, seats: int, root: int, *, sign: bool = False) -> HonestTable:
    """A match up to its first choice; drafts take the lowest cards."""
    options = pb.Options(variant=pb.Variant.Value(f"VARIANT_{name.upper()}"))
    made = HonestTable(seats, options, sign=sign, root_secret=bytes([root]) * 32).start()
    while made.match.state.phase == pb.PHASE_DRAFT:
        seat = made.match.to_act[0]
        made.command(seat, GAME.legal(made.match.state, seat)[0])
    return made


def seen(made: HonestTable, viewer: int | None) -> list[Any]:
    """What a viewer gets of each record, without the commitments and the hashes over them."""
    shown = []
    for seq in range(len(made.records)):
        item = made.shown(seq, viewer)
        record = item.record
        seals = [(seal.audience, seal.epoch, len(seal.commitment)) for seal in record.seals]
        openings = [opening.value for opening in record.openings]
        late = [opening.SerializeToString() for each in item.late_openings for opening in each.openings]
        shown.append((record.body, seals, openings, late, item.ByteSize()))
    return shown


def choices(made: HonestTable, seat: int) -> tuple[Message, Message]:
    """The first and the last of the legal choices of a seat."""
    legal = GAME.legal(made.match.state, seat)
    return legal[0], legal[-1]


@pytest.mark.parametrize("name", SEALING)
@pytest.mark.parametrize("seats", [2, 4])
def test_two_matches_that_differ_in_sealed_choices_alone_look_alike(name: str, seats: int) -> None:
    one, two = table(name, seats, 7), table(name, seats, 7)
    for seat in range(1, seats):  # all but seat 0, whose choice would turn the cards up
        first, last = choices(one, seat)
        one.command(seat, first)
        two.command(seat, last)
        for viewer in (None, 0):
            assert seen(one, viewer) == seen(two, viewer)
            assert GAME.view(one.match.state, viewer) != GAME.view(one.match.state, seat)
            assert one.tracked(viewer).match.state is not None
            assert GAME.view(one.tracked(viewer).match.state, viewer) == GAME.view(
                two.tracked(viewer).match.state, viewer
            )
        assert seen(one, seat) != seen(two, seat)


@pytest.mark.parametrize("name", SEALING)
def test_signed_choices_have_the_same_size(name: str) -> None:
    one, two = table(name, 3, 7, sign=True), table(name, 3, 7, sign=True)
    first, last = choices(one, 1)
    one.command(1, first)
    two.command(1, last)
    for viewer in (None, 0, 2):
        assert [item[-1] for item in seen(one, viewer)] == [item[-1] for item in seen(two, viewer)]


def with_shared_number() -> tuple[int, int]:
    """A root whose deal of Double gives both seats a card of one number, and that number."""
    for root in range(1, 256):
        hands = table("double", 2, root).match.state.hands
        common = set(hands[0]) & set(hands[1])
        if common:
            return root, min(common)
    raise AssertionError("no deal of two packs gives twins to two seats")


def test_nobody_learns_whether_another_has_sealed_the_twin_of_an_own_card() -> None:
    root, number = with_shared_number()
    twin, other = table("double", 2, root), table("double", 2, root)
    another = next(card for card in twin.match.state.hands[0] if card != number)
    twin.command(0, pb.SelectCard(card=number))
    other.command(0, pb.SelectCard(card=another))
    for viewer in (None, 1):
        assert seen(twin, viewer) == seen(other, viewer)
    assert GAME.view(twin.match.state, 1) == GAME.view(other.match.state, 1)
    assert GAME.legal(twin.match.state, 1) == GAME.legal(other.match.state, 1)
    texts = []
    for made in (twin, other):
        absent = next(card for card in range(1, 105) if card not in made.match.state.hands[1])
        with pytest.raises(IllegalCommand) as caught:
            made.command(1, pb.SelectCard(card=absent))
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


def test_the_records_of_sealed_choices_hold_no_card() -> None:
    made = table("nifty", 3, 7)
    made.command(1, GAME.legal(made.match.state, 1)[5])
    body = records.read_body(made.shown(len(made.records) - 1, 0).record)
    event = GAME.schema.events.unpack(body.events[0])
    assert event == pb.Chosen(seat=1)
