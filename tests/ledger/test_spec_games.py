"""What the specification says of draws, packs and decisions is what every game does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import pytest
from google.protobuf.message import Message
from sixledger.engine.game import Game, Setup
from sixledger.games.forces.v1 import forces_pb2
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.games.piece.v1 import piece_pb2
from support.matches import Table, all_setups

every_setup = pytest.mark.parametrize(("game", "setup"), all_setups())
DRAFTED = (nimmt_pb2.VARIANT_LOGIC, nimmt_pb2.VARIANT_TOURNAMENT)


def played(game: Game[Any], setup: Setup, seed: int = 3, commands: int = 400) -> Table:
    """A random match, or so much of it."""
    table = Table(game, setup, seed)
    for _ in table.play_on(Random(seed), commands):
        pass
    return table


def events_of(table: Table) -> Iterator[Any]:
    """Every event in order."""
    for record in table.records:
        yield from (event for _, event in record.events)


# -- draws ---------------------------------------------------------------------------------------


def nimmt_pack(setup: Setup) -> list[int]:
    """The pack of a round before it is shuffled."""
    variant, options = setup.options.variant, setup.options
    small = variant in (nimmt_pb2.VARIANT_TACTICS, *DRAFTED) or options.deck == nimmt_pb2.DECK_TACTICS
    if small:
        return list(range(1, 10 * setup.seats + 5))
    pack = list(range(2 if variant == nimmt_pb2.VARIANT_OPEN else 1, 105))
    if variant == nimmt_pb2.VARIANT_DOUBLE:
        twins = range(11, 100, 11) if options.double_pack == nimmt_pb2.DOUBLE_PACK_DOUBLETS else pack
        pack = sorted([*pack, *twins])
    return pack


def check_forces(table: Table, event: Any, seen: dict[str, Any]) -> None:
    """Starter, decks and hands."""
    if isinstance(event, forces_pb2.StarterDrawn):
        assert event.seat == table.chance.stream(1, "starter").below(table.setup.seats)
    elif isinstance(event, forces_pb2.DeckShuffled):
        deck = [(colour, number) for colour in range(1, 5) for number in range(1, 13 if table.setup.seats == 4 else 10)]
        seen["order"] = table.chance.stream(event.deal, "deck").shuffle(deck)
        assert [(card.color, card.number) for card in event.order] == seen["order"]
    elif isinstance(event, forces_pb2.HandDealt):
        own = seen["order"][12 * event.seat : 12 * event.seat + 12]
        assert [(card.color, card.number) for card in event.cards] == own


def check_nimmt(table: Table, event: Any, seen: dict[str, Any]) -> None:
    """Starter, packs, hands and the starts of the rows."""
    variant = table.setup.options.variant
    size = 14 if variant in (nimmt_pb2.VARIANT_NIFTY, nimmt_pb2.VARIANT_HAND) else 10
    if isinstance(event, nimmt_pb2.StarterDrawn):
        assert event.seat == table.chance.stream(1, "starter").below(table.setup.seats)
    elif isinstance(event, nimmt_pb2.PackShuffled):
        seen["order"] = table.chance.stream(event.round, "pack").shuffle(nimmt_pack(table.setup))
        assert list(event.order) == seen["order"]
    elif isinstance(event, nimmt_pb2.DraftStarted):
        assert list(event.cards) == nimmt_pack(table.setup)
    elif isinstance(event, nimmt_pb2.HandDealt):
        assert list(event.cards) == sorted(seen["order"][size * event.seat : size * (event.seat + 1)])
    elif isinstance(event, nimmt_pb2.RowsStarted) and variant not in DRAFTED:
        rest = seen["order"][size * table.setup.seats :]
        drawn = list(event.drawn) or [row.cards[0] for row in event.rows]
        assert drawn == rest[: len(drawn)]


def check_piece(table: Table, event: Any, seen: dict[str, Any]) -> None:
    """First player, decks, discards and taken cards; the stacks are followed here."""
    options, chance = table.setup.options, table.chance
    stacks: dict[int, list[int]] = seen.setdefault("stacks", {1: [], 2: []})
    if isinstance(event, piece_pb2.MatchStarted) and options.first_player == piece_pb2.FIRST_PLAYER_RANDOM:
        assert event.first_player == chance.stream(1, "first-player").below(2)
    elif isinstance(event, piece_pb2.DeckShuffled):
        deck = [1, 2, 3, 4, 5, 6, *options.beasts[event.seat : event.seat + 1]]
        assert list(event.order) == chance.stream(1, f"deck/{event.seat}").shuffle(deck)
    elif isinstance(event, piece_pb2.TurnStarted):
        seen["turn"] = event.turn
    elif isinstance(event, piece_pb2.CardPlaced) and event.where != piece_pb2.WHERE_ROOT:
        stacks[event.where - 1].append(event.card)
    elif isinstance(event, piece_pb2.CardDiscarded):
        pile, name = stacks[event.stack], "left" if event.stack == piece_pb2.STACK_LEFT else "right"
        assert pile.pop(chance.stream(1, f"discard/{seen['turn']}/{name}").below(len(pile))) == event.card
    elif isinstance(event, piece_pb2.SixPiece):
        cards = [card for stack in sorted(event.stacks) for card in stacks[stack]]
        assert list(event.new_order) == chance.stream(1, f"take/{seen['turn']}").shuffle(cards)
        for stack in event.stacks:
            stacks[stack].clear()


CHECKS = {"forces": check_forces, "nimmt": check_nimmt, "piece": check_piece}


@every_setup
def test_draws_come_from_the_labels_and_packs_of_the_specification(game: Game[Any], setup: Setup) -> None:
    table = played(game, setup)
    seen: dict[str, Any] = {}
    for event in events_of(table):
        CHECKS[game.id](table, event, seen)
    options = setup.options
    if game.id == "forces":
        epochs = options.deals
    elif game.id == "piece":
        epochs = 1
    elif options.variant == nimmt_pb2.VARIANT_TOURNAMENT:
        epochs = setup.seats
    else:
        epochs = options.max_rounds if options.end_mode == nimmt_pb2.END_MODE_POINTS else options.rounds
    assert game.epochs(setup) == epochs


# -- decisions -----------------------------------------------------------------------------------


def opens_forces(events: Sequence[Message], seats: int) -> int:
    """Decisions that a deal's events open."""
    planned = dealt = laid = number = 0
    for event in events:
        if isinstance(event, forces_pb2.HandDealt):
            dealt += 1
            planned = 0
            number += dealt % seats == 0
        elif isinstance(event, (forces_pb2.Predicted, forces_pb2.TrumpChosen)):
            planned += 1
            number += planned < 2 * seats
        elif isinstance(event, forces_pb2.TrickStarted):
            laid = 0
            number += 1
        elif isinstance(event, forces_pb2.CardPlayed):
            laid += 1
            number += laid < seats
    return number


def opens_nimmt(events: Sequence[Message], seats: int, variant: int) -> int:
    """Decisions that the events of a match open."""
    number = in_turn = drafted = placed = 0
    for event, after in zip(events, [*events[1:], None], strict=True):
        ends_round = isinstance(after, nimmt_pb2.RoundScored)
        if isinstance(event, (nimmt_pb2.RowsStarted, nimmt_pb2.RowChoiceNeeded, nimmt_pb2.EndChoiceNeeded)):
            number += 1
        elif isinstance(event, nimmt_pb2.TurnEnded):
            in_turn = placed = 0
            # The marker of Open moves between the last turn and the scoring.
            last = ends_round or (isinstance(after, nimmt_pb2.MarkerMoved) and event.turn == 10)
            number += not (last or isinstance(after, nimmt_pb2.CycleEnded))
        elif isinstance(event, nimmt_pb2.CycleEnded):
            number += not ends_round
        elif isinstance(event, nimmt_pb2.DraftStarted):
            drafted = 0
            number += 1
        elif isinstance(event, nimmt_pb2.CardDrafted):
            drafted += 1
            number += drafted < 10 * seats
        elif isinstance(event, nimmt_pb2.CardLaid):
            in_turn += 1
            number += in_turn < seats
        elif isinstance(event, nimmt_pb2.RowTaken):
            number += variant == nimmt_pb2.VARIANT_HAND
        elif isinstance(event, nimmt_pb2.Revealed):
            number += variant == nimmt_pb2.VARIANT_NIFTY
        elif isinstance(event, nimmt_pb2.CardPlaced) and variant == nimmt_pb2.VARIANT_NIFTY:
            placed += 1
            number += placed % 2 == 0 and placed < 2 * seats
    return number


def opens_piece(events: Sequence[Message]) -> int:
    """Decisions that the events of a match open."""
    number = ability = 0
    root = False
    for event in events:
        if isinstance(event, piece_pb2.CardFlipped):
            number += 1
            ability = 0
        elif isinstance(event, piece_pb2.AbilityUsed):
            ability = event.ability
            number += root and ability in (1, 5)
        elif isinstance(event, (piece_pb2.Declined, piece_pb2.BottomToTop, piece_pb2.CardsSwapped)):
            number += root
        elif isinstance(event, piece_pb2.CardRevealed):
            number += root and event.card != 4
        elif isinstance(event, piece_pb2.DieSet):
            number += event.cause == piece_pb2.DIE_CAUSE_SUBTRACT
        elif isinstance(event, piece_pb2.CardPlaced):
            root = True
            number += ability == 5
    return number


@every_setup
def test_decisions_are_counted_as_the_specification_says(game: Game[Any], setup: Setup) -> None:
    table = Table(game, setup, 5)
    for _ in table.play_on(Random(5), 300):
        if len(table.records) % 5:
            continue
        events = list(events_of(table))
        if game.id == "forces":
            counted = opens_forces(events, setup.seats)
        elif game.id == "piece":
            counted = opens_piece(events)
        else:
            counted = opens_nimmt(events, setup.seats, setup.options.variant)
        assert counted == game.decision(table.state).number
