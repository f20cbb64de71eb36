"""Splitting messages into what everybody and what only some may read."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from sixledger.annotations.v1 import visibility_pb2
from sixledger.engine.visibility import (
    EPOCH,
    PUBLIC,
    SEAT,
    Overriding,
    VisibilityError,
    classes,
    holds_any,
    merge,
    redact,
    split,
)
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb


def test_a_message_splits_into_its_public_and_its_secret_part() -> None:
    dealt = pb.HandDealt(seat=1, count=2, cards=[5, 9])
    public, secret = split(dealt)
    assert public == pb.HandDealt(seat=1, count=2)
    assert secret == pb.HandDealt(cards=[5, 9])
    assert merge(public, secret) == dealt


def test_a_type_with_secrets_has_a_secret_part_even_if_it_is_empty() -> None:
    assert split(pb.Chosen(seat=1)) == (pb.Chosen(seat=1), pb.Chosen())


def test_a_type_without_secrets_has_no_secret_part() -> None:
    placed = pb.CardPlaced(seats=[1], card=5)
    assert split(placed) == (placed, None)


def test_a_secret_part_cannot_override_what_everybody_saw() -> None:
    with pytest.raises(Overriding):
        merge(pb.Chosen(seat=1), pb.Chosen(seat=2, card=5))
    with pytest.raises(Overriding):
        merge(pb.Chosen(seat=1, card=4), pb.Chosen(card=5))


@pytest.mark.parametrize(
    ("viewer", "revealed", "sees"), [(1, False, True), (0, False, False), (None, False, False), (None, True, True)]
)
def test_a_hand_is_seen_by_its_seat_and_after_the_reveal(viewer: int | None, revealed: bool, sees: bool) -> None:
    dealt = pb.HandDealt(seat=1, count=2, cards=[5, 9])
    seen = redact(dealt, viewer, revealed=revealed)
    assert list(seen.cards) == ([5, 9] if sees else [])
    assert seen.count == 2


def test_the_pack_is_seen_by_nobody_before_the_reveal() -> None:
    shuffled = pb.PackShuffled(round=1, order=[2, 1])
    assert redact(shuffled, 0) == pb.PackShuffled(round=1)
    assert redact(shuffled, 0, revealed=True) == shuffled


def test_a_sealed_command_is_seen_by_the_seat_that_gave_it() -> None:
    command = pb.SelectCard(card=5)
    assert redact(command, 1, giver=1) == command
    assert redact(command, 0, giver=1) == pb.SelectCard()


def message_type(name: str, fields: dict[str, int | None], nested: dict[str, int | None] | None = None) -> Any:
    """A message type made up here: field name → visibility; `nested` gives it a public message field `inner`."""
    file = descriptor_pb2.FileDescriptorProto(
        name=f"made_up/{name}.proto",
        package=f"made_up.{name}",
        syntax="proto3",
        dependency=[visibility_pb2.DESCRIPTOR.name],
    )
    kinds = [("Inner", nested)] if nested else []
    for kind, its_fields in [*kinds, ("Fact", fields)]:
        message = file.message_type.add(name=kind)
        for number, (field, value) in enumerate(its_fields.items(), 1):
            made = message.field.add(name=field, number=number, label=1, type=13)
            if value is not None:
                made.options.Extensions[visibility_pb2.visibility] = visibility_pb2.Visibility.ValueType(value)
    if nested:
        made = file.message_type[-1].field.add(
            name="inner", number=99, label=1, type=11, type_name=f".made_up.{name}.Inner"
        )
        made.options.Extensions[visibility_pb2.visibility] = PUBLIC
    pool = descriptor_pool.Default()
    pool.Add(file)  # the default pool: the annotation is an extension that only it knows
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"made_up.{name}.Fact"))


@pytest.mark.parametrize(
    ("name", "fields", "nested"),
    [
        ("unannotated", {"seat": PUBLIC, "card": None}, None),
        ("two_classes", {"card": SEAT, "order": EPOCH}, None),
        ("nested_secret", {"seat": PUBLIC}, {"card": SEAT}),
        ("nested_unannotated", {"seat": PUBLIC}, {"card": None}),
    ],
)
def test_splitting_fails_closed(name: str, fields: dict[str, Any], nested: dict[str, Any] | None) -> None:
    kind = message_type(name, fields, nested)
    with pytest.raises(VisibilityError):
        classes(kind)
    with pytest.raises(VisibilityError):
        split(kind(seat=1) if "seat" in fields else kind())
    with pytest.raises(VisibilityError):
        redact(kind(), None)


def test_a_field_that_may_be_absent_is_set_even_if_it_holds_nothing() -> None:
    assert not holds_any(pb.MatchStarted(), ("options",))
    assert holds_any(pb.MatchStarted(options=pb.Options()), ("options",))
    assert not holds_any(pb.HandDealt(seat=2, cards=[]), ("cards", "count"))
    assert holds_any(pb.HandDealt(cards=[0]), ("count", "cards"))
