"""Commands and events in their envelopes, and strict reading."""

from __future__ import annotations

import pytest
from sixledger.engine.errors import MalformedCommand
from sixledger.engine.nimmt import GAME
from sixledger.engine.schema import Malformed, Schema, has_unknown_fields, parse_strict
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb
from sixledger.v1 import game_pb2

#: The same messages as a game of another distribution would use them.
FOREIGN = Schema(
    "elsewhere", command=pb.Command, event=pb.Event, options=pb.Options, view=pb.View, position=pb.Position
)
#: Field 15, varint 1: unknown to every message here that has fewer fields.
SURPLUS = b"\x78\x01"


@pytest.mark.parametrize("schema", [GAME.schema, FOREIGN], ids=["built-in", "foreign"])
def test_a_command_survives_its_envelope(schema: Schema) -> None:
    packed = schema.commands.pack(pb.SelectCard(card=7))
    assert schema.read_command(packed.SerializeToString()) == pb.SelectCard(card=7)
    assert packed.WhichOneof("game") == ("nimmt" if schema is GAME.schema else "other")


@pytest.mark.parametrize("schema", [GAME.schema, FOREIGN], ids=["built-in", "foreign"])
def test_options_views_and_positions_survive_their_envelopes(schema: Schema) -> None:
    for holder, message in (
        (schema.options, pb.Options(limit=5)),
        (schema.view, pb.View(players=3)),
        (schema.position, pb.Position(players=3)),
    ):
        assert holder.unpack(holder.pack(message)) == message


def test_an_empty_envelope_holds_default_options() -> None:
    assert GAME.schema.options.unpack(game_pb2.Options()) == pb.Options()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\xff\xff", "cannot be read"),
        (game_pb2.Command().SerializeToString(), "another game"),
        (game_pb2.Command(nimmt=pb.Command()).SerializeToString(), "names no command"),
        (FOREIGN.commands.pack(pb.SelectCard(card=7)).SerializeToString(), "another game"),
        (GAME.schema.commands.pack(pb.SelectCard(card=7)).SerializeToString() + SURPLUS, "does not know"),
        (
            game_pb2.Command(nimmt=pb.Command(select_card=pb.SelectCard.FromString(SURPLUS))).SerializeToString(),
            "does not know",
        ),
    ],
    ids=["garbage", "empty", "no case", "foreign", "surplus field", "nested surplus field"],
)
def test_what_is_no_command_of_the_game_is_malformed(data: bytes, says: str) -> None:
    with pytest.raises(MalformedCommand, match=says):
        GAME.schema.read_command(data)


def test_a_surplus_field_inside_a_packed_foreign_command_is_found() -> None:
    packed = FOREIGN.commands.pack(pb.SelectCard(card=7))
    packed.other.value += SURPLUS
    with pytest.raises(MalformedCommand, match="does not know"):
        FOREIGN.read_command(packed.SerializeToString())


def test_an_event_of_another_game_is_refused() -> None:
    packed = FOREIGN.events.pack(pb.TurnEnded(round=1, turn=1))
    assert FOREIGN.events.unpack(packed) == pb.TurnEnded(round=1, turn=1)
    with pytest.raises(Malformed, match="another game"):
        GAME.schema.events.unpack(packed)


def test_unknown_fields_are_seen_at_any_depth() -> None:
    assert not has_unknown_fields(pb.View(rows=[pb.Row(cards=[1])]))
    assert has_unknown_fields(pb.View(rows=[pb.Row.FromString(SURPLUS)]))
    assert parse_strict(pb.Row, pb.Row(cards=[1, 2]).SerializeToString()) == pb.Row(cards=[1, 2])
