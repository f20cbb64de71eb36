"""What sets the variants apart and needs more than a position to show: RULES 2.3, 2.5 to 2.12."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from google.protobuf.message import Message
from sixledger.engine.errors import IllegalCommand, MalformedCommand
from sixledger.engine.nimmt import GAME
from sixledger.engine.nimmt.variants import VARIANTS
from sixledger.engine.nimmt.variants.double import Double, positions, stacks
from sixledger.engine.nimmt.variants.professional import nearest_ends
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb
from support.matches import Table
from support.nimmt import value


def table(name: str, seats: int, seed: int = 1, **options: Any) -> Table:
    given = pb.Options(variant=pb.Variant.Value(f"VARIANT_{name.upper()}"), **options)
    return Table(GAME, GAME.complete(seats, given), seed)


def events_of(match: Table) -> list[Any]:
    return [event for record in match.records for _, event in record.events]


def play_out(match: Table, seed: int = 1) -> list[Any]:
    for _ in match.play_on(Random(seed)):
        pass
    return events_of(match)


def of_type(events: list[Any], kind: type[Message]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


# -- packs and starters --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "seats", "sizes"),
    [
        ("tactics", 3, (34, 10)),
        ("tactics", 10, (104, 10)),
        ("logic", 2, (24, 10)),
        ("tournament", 5, (54, 10)),
        ("professional", 4, (104, 10)),
        ("open", 9, (103, 10)),
        ("nifty", 7, (104, 14)),
        ("hand", 7, (104, 14)),
        ("double", 10, (208, 10)),
    ],
)
def test_the_pack_and_the_hands_of_a_variant(name: str, seats: int, sizes: tuple[int, int]) -> None:
    started = of_type(events_of(table(name, seats)), pb.RoundStarted)[0]
    assert (started.pack_size, started.hand_size) == sizes


def test_the_packs_of_double_and_their_bullheads() -> None:
    double, doublets = (pb.Options(double_pack=each) for each in (pb.DOUBLE_PACK_DOUBLE, pb.DOUBLE_PACK_DOUBLETS))
    rules = VARIANTS[pb.VARIANT_DOUBLE]
    assert list(rules.pack(2, double))[:4] == [1, 1, 2, 2]
    assert sum(map(value, rules.pack(2, double))) == 342
    assert len(rules.pack(2, doublets)) == 113
    assert sum(map(value, rules.pack(2, doublets))) == 218
    assert [card for card, copies in Counter(rules.pack(2, doublets)).items() if copies == 2] == [*range(11, 100, 11)]


def test_without_card_1_the_bullheads_are_170() -> None:
    assert sum(map(value, VARIANTS[pb.VARIANT_OPEN].pack(3, pb.Options()))) == 170


@pytest.mark.parametrize("name", ["logic", "tournament", "open", "hand"])
def test_a_random_starter_is_drawn_before_the_first_round(name: str) -> None:
    match = table(name, 5)
    drawn = match.chance.stream(1, "starter").below(5)
    events = match.records[0].events
    assert [type(event) for _, event in events[:3]] == [pb.MatchStarted, pb.StarterDrawn, pb.RoundStarted]
    assert events[1][1] == pb.StarterDrawn(seat=drawn)
    assert GAME.decision(match.state).seats == (drawn,)


@pytest.mark.parametrize("name", ["logic", "tournament", "open", "hand"])
def test_a_chosen_starter_is_not_drawn(name: str) -> None:
    match = table(name, 5, first_starter=pb.FIRST_STARTER_SEAT_3)
    assert not of_type(events_of(match), pb.StarterDrawn)
    assert GAME.decision(match.state).seats == (3,)


# -- logic and tournament ------------------------------------------------------------------------


def test_logic_shuffles_nothing_and_drafts_round_the_table() -> None:
    """N-L2: with starter 1 and three seats the picks are 1, 2, 0, 1, 2, 0 and so on."""
    match = table("logic", 3, first_starter=pb.FIRST_STARTER_SEAT_1, end_mode=pb.END_MODE_ROUNDS, rounds=2)
    events = play_out(match)
    assert not of_type(events, pb.PackShuffled)
    drafts = of_type(events, pb.DraftStarted)
    assert [draft.starter for draft in drafts] == [1, 2]
    assert all(list(draft.cards) == list(range(1, 35)) for draft in drafts)
    picks = [event.seat for event in of_type(events, pb.CardDrafted)]
    assert picks == [1, 2, 0] * 10 + [2, 0, 1] * 10


def test_the_hands_of_a_tournament_go_round() -> None:
    """N-O0: in game g seat i plays the hand (i − g) mod n; every game starts with the same rows."""
    events = play_out(table("tournament", 3))
    kinds = [type(event) for event in events]
    drafted: dict[int, list[int]] = {seat: [] for seat in range(3)}
    for event in of_type(events, pb.CardDrafted):
        drafted[event.seat].append(event.card)
    hands = [sorted(drafted[seat]) for seat in range(3)]
    assert [list(event.cards) for event in of_type(events, pb.HandSet)] == [
        *(hands[0], hands[1], hands[2]),
        *(hands[2], hands[0], hands[1]),
        *(hands[1], hands[2], hands[0]),
    ]
    rows = of_type(events, pb.RowsStarted)
    assert len(rows) == 3
    assert rows[0] == rows[1] == rows[2]
    assert kinds.count(pb.DraftStarted) == 1
    assert kinds.count(pb.RoundStarted) == 3
    assert not of_type(events, pb.PackShuffled)


def test_the_sheet_of_a_tournament_has_every_hand_of_every_seat() -> None:
    match = table("tournament", 4)
    events = play_out(match)
    entries = of_type(events, pb.SheetEntry)
    assert [(entry.game, entry.seat) for entry in entries] == [(g, s) for g in range(4) for s in range(4)]
    assert all(entry.hand_index == (entry.seat - entry.game) % 4 for entry in entries)
    assert {(entry.seat, entry.hand_index) for entry in entries} == {(s, h) for s in range(4) for h in range(4)}
    totals = [sum(entry.points for entry in entries if entry.seat == seat) for seat in range(4)]
    outcome = GAME.outcome(match.state)
    assert outcome is not None
    assert list(outcome.scores) == totals
    assert outcome.reason == "tournament"
    after = [type(event) for event in events[events.index(entries[0]) - 1 :][:6]]
    assert after == [pb.RoundScored, *[pb.SheetEntry] * 4, pb.RoundStarted]


def test_a_draft_is_a_decision_for_each_card_even_the_last() -> None:
    match = table("logic", 2)
    numbers = [GAME.decision(match.state).number]
    while match.state.phase == pb.PHASE_DRAFT:
        seat = GAME.decision(match.state).seats[0]
        match.act(seat, GAME.legal(match.state, seat)[0])
        numbers.append(GAME.decision(match.state).number)
    assert numbers == list(range(1, 22))


# -- professional --------------------------------------------------------------------------------


AFTER_EXAMPLE_1 = [(17,), (5, 10, 35, 60, 62), (58, 61, 70, 80), (67,)]


def test_the_official_remarks_on_the_first_example_of_professional() -> None:
    """N-P1: exactly 1 to 4, 63 and 64 collect the second row; 65 and the low cards go where the book says."""
    lying = {card for row in AFTER_EXAMPLE_1 for card in row} | {40, 44, 47, 51, 53}
    unused = [card for card in range(1, 105) if card not in lying]
    goes = {card: nearest_ends(AFTER_EXAMPLE_1, card) for card in unused}
    assert [card for card, ends in goes.items() if any(row == 1 for row, _ in ends)] == [1, 2, 3, 4, 63, 64]
    assert goes[65] == [(3, pb.SIDE_LEFT)]
    assert all(goes[card] == [(0, pb.SIDE_LEFT)] for card in (*range(6, 10), *range(11, 17)))


def test_the_official_remark_on_the_second_example_of_professional() -> None:
    """N-P2: exactly 59 and 60 fit nowhere."""
    rows = [(12, 61), (5, 35, 62), (58, 70, 80), (31, 90)]
    unused = set(range(1, 105)) - {card for row in rows for card in row}
    assert [card for card in sorted(unused) if not nearest_ends(rows, card)] == [59, 60]
    assert nearest_ends(rows, 57) == [(2, pb.SIDE_LEFT)]


# -- open ----------------------------------------------------------------------------------------


def test_the_marker_moves_after_every_turn_of_the_match() -> None:
    match = table("open", 3, first_starter=pb.FIRST_STARTER_SEAT_2, end_mode=pb.END_MODE_ROUNDS, rounds=2)
    events = play_out(match)
    assert all(isinstance(two, pb.MarkerMoved) for one, two in pairwise(events) if isinstance(one, pb.TurnEnded))
    laid = [event.seat for event in of_type(events, pb.CardLaid)]
    assert laid == [(2 + turn + place) % 3 for turn in range(20) for place in range(3)]
    assert [event.seat for event in of_type(events, pb.MarkerMoved)] == [(3 + turn) % 3 for turn in range(20)]


def test_card_1_is_nowhere_in_open() -> None:
    """N-E2: the marker is in no hand and no row."""
    match = table("open", 9)
    dealt = [card for hand in match.state.hands for card in hand] + [card for row in match.state.rows for card in row]
    assert sorted([*dealt, *match.state.undealt]) == list(range(2, 105))


# -- hand ----------------------------------------------------------------------------------------


def test_hand_scores_piles_once_and_hands_twice() -> None:
    match = table("hand", 3)
    play_out(match)
    state = match.state
    expected = [
        sum(map(value, pile)) + 2 * sum(map(value, hand)) for pile, hand in zip(state.piles, state.hands, strict=True)
    ]
    assert state.totals == expected


def test_a_cycle_of_hand_ends_when_every_seat_has_had_its_turn() -> None:
    events = play_out(table("hand", 3, seed=2))
    cycles = 0
    ends: list[Any] = [event for event in events if isinstance(event, pb.TurnEnded | pb.CycleEnded)]
    for one, two in pairwise(ends):
        if isinstance(two, pb.CycleEnded):
            cycles += 1
            assert two.cycle == cycles
            assert one.turn == 3 * cycles
            assert isinstance(one, pb.TurnEnded)
    assert cycles
    assert [event.turn for event in of_type(events, pb.TurnEnded)] == list(range(1, 3 * cycles + 1))


def test_the_events_of_a_collection_in_hand_come_in_order() -> None:
    order = {pb.RowChoiceNeeded: 0, pb.RowTaken: 1, pb.RowSplit: 2, pb.CardPlaced: 3}
    events = [event for event in play_out(table("hand", 4)) if type(event) in order]
    for one, two in pairwise(events):
        if not isinstance(one, pb.CardPlaced):
            assert order[type(two)] == order[type(one)] + 1
        if isinstance(two, pb.RowSplit):
            assert sorted([*two.kept, *two.piled]) == sorted(one.cards)
            assert list(two.kept) == sorted(two.kept)
            assert list(two.piled) == sorted(two.piled)


# -- double --------------------------------------------------------------------------------------


def test_a_twin_of_a_row_start_goes_on_top_of_it() -> None:
    """N-D9: after 44, 17, 44, 90, 17, 5 four rows lie."""
    started = VARIANTS[pb.VARIANT_DOUBLE].first_rows((44, 17, 44, 90, 17, 5, 6, 7))
    rows = [[list(stack.cards) for stack in row.positions] for row in started.stacked_rows]
    assert rows == [[[44, 44]], [[17, 17]], [[90]], [[5]]]
    assert list(started.drawn) == [44, 17, 44, 90, 17, 5]
    assert not started.rows


def test_seven_cards_may_start_the_rows() -> None:
    started = VARIANTS[pb.VARIANT_DOUBLE].first_rows((1, 1, 2, 2, 3, 3, 4, 4))
    assert list(started.drawn) == [1, 1, 2, 2, 3, 3, 4]


def test_twins_are_one_position_of_a_row() -> None:
    assert positions((10, 10, 12, 15, 15)) == 3
    assert stacks((10, 10, 12, 15, 15)) == [(10, 10), (12,), (15, 15)]


def test_two_seats_that_share_a_row_in_double_are_charged_alike() -> None:
    shared = 0
    for seed in range(12):
        for event in of_type(play_out(table("double", 10, seed, end_mode=pb.END_MODE_ROUNDS), seed), pb.RowTaken):
            points = sum(map(value, event.cards))
            if len(event.seats) == 2:
                shared += 1
                assert event.points_each == (points + 1) // 2
                assert list(event.seats) == sorted(event.seats)
            else:
                assert event.points_each == points
    assert shared


# -- commands ------------------------------------------------------------------------------------

OF_OTHERS = {
    "base": (pb.SelectPair(cards=[1, 2]), pb.LayCard(card=1), pb.PlayCards(cards=[1]), pb.DraftCard(card=1)),
    "open": (pb.SelectCard(card=2), pb.KeepCards(), pb.ChooseEnd(row=0, side=pb.SIDE_LEFT)),
    "hand": (pb.SelectCard(card=1), pb.LayCard(card=1), pb.PlaceFirst(card=1)),
    "nifty": (pb.SelectCard(card=1), pb.PlayCards(cards=[1, 2])),
    "double": (pb.SelectPair(cards=[1, 2]), pb.KeepCards()),
    "logic": (pb.LayCard(card=1), pb.SelectCard(card=1)),
}


@pytest.mark.parametrize("name", OF_OTHERS)
def test_a_command_of_another_variant_is_in_the_wrong_phase(name: str) -> None:
    match = table(name, 2)
    for command in OF_OTHERS[name]:
        for seat in range(2):
            with pytest.raises(IllegalCommand) as caught:
                list(GAME.play(match.state, seat, command, match.chance))
            assert caught.value.rule == "wrong_phase"


@pytest.mark.parametrize("name", OF_OTHERS)
def test_after_the_end_every_command_of_every_variant_is_finished_unless_malformed(name: str) -> None:
    match = table(name, 2, end_mode=pb.END_MODE_ROUNDS)
    play_out(match)
    for command in (pb.SelectCard(card=5), *(each for commands in OF_OTHERS.values() for each in commands)):
        if name == "open" and 1 in [*getattr(command, "cards", []), getattr(command, "card", 0)]:
            continue  # there is no card 1
        with pytest.raises(IllegalCommand) as caught:
            list(GAME.play(match.state, 0, command, match.chance))
        assert caught.value.rule == "finished"
    for wrong in (pb.SelectPair(cards=[1, 105]), pb.DraftCard(), pb.ChooseEnd(row=4, side=pb.SIDE_LEFT)):
        with pytest.raises(MalformedCommand):
            list(GAME.play(match.state, 0, wrong, match.chance))


def test_the_table_gives_no_commands() -> None:
    match = table("base", 2)
    with pytest.raises(MalformedCommand, match="table"):
        list(GAME.play(match.state, None, pb.SelectCard(card=1), match.chance))


def test_an_event_of_another_variant_cannot_be_applied() -> None:
    with pytest.raises(TypeError, match="no event of 6 nimmt! in this variant"):
        GAME.evolve(table("base", 2).state, pb.CardLaid(seat=0, card=1))


def test_double_is_a_variant_like_the_others() -> None:
    assert isinstance(VARIANTS[pb.VARIANT_DOUBLE], Double)
    assert [rules.number for rules in VARIANTS.values()] == list(VARIANTS) == [*range(1, 10)]
