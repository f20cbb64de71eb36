"""Who may read which field: splitting messages into a public and a secret part.

The classes are field options of the schema (`sixledger.annotations.v1.visibility`). Secrets are whole
top-level fields, of one non-public class per message. Splitting fails closed: a field without a class
makes the message type unusable.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from google.protobuf.message import Message
from sixledger.annotations.v1 import visibility_pb2 as pb

PUBLIC = pb.VISIBILITY_PUBLIC
SEAT = pb.VISIBILITY_SEAT
EPOCH = pb.VISIBILITY_EPOCH

M = TypeVar("M", bound=Message)

#: Messages that may appear in commands and events without annotations of their own: exempt by DESIGN 3.
EXEMPT = frozenset({"Options", "View", "Position"})


class VisibilityError(TypeError):
    """The schema of a message does not say who may read it."""


@dataclass(frozen=True, slots=True)
class Classes:
    """The top-level fields of one message type by class."""

    secret: tuple[str, ...]
    public: tuple[str, ...]
    #: SEAT or EPOCH; PUBLIC if nothing is secret.
    kind: pb.Visibility.ValueType


def field_class(field: Any) -> pb.Visibility.ValueType:
    """The class of a field. Raises VisibilityError if it has none."""
    value: pb.Visibility.ValueType = field.GetOptions().Extensions[pb.visibility]
    if value not in (PUBLIC, SEAT, EPOCH):
        raise VisibilityError(f"{field.full_name} has no visibility")
    return value


def _check_nested(descriptor: Any, seen: set[str]) -> None:
    """Every field below a top-level field must be PUBLIC: secrets are whole top-level fields."""
    if descriptor.full_name in seen or descriptor.name in EXEMPT:
        return
    seen.add(descriptor.full_name)
    for field in descriptor.fields:
        if field_class(field) != PUBLIC:
            raise VisibilityError(f"{field.full_name} is secret below the top level")
        if field.message_type is not None:
            _check_nested(field.message_type, seen)


@cache
def classes(kind: Any) -> Classes:
    """The classes of `kind`, a concrete command or event type. Raises VisibilityError."""
    by_class: dict[Any, list[str]] = {PUBLIC: [], SEAT: [], EPOCH: []}
    for field in kind.DESCRIPTOR.fields:
        by_class[field_class(field)].append(field.name)
        if field.message_type is not None:
            _check_nested(field.message_type, set())
    if by_class[SEAT] and by_class[EPOCH]:
        raise VisibilityError(f"{kind.DESCRIPTOR.full_name} has secrets of two classes")
    secret = by_class[SEAT] or by_class[EPOCH]
    return Classes(
        secret=tuple(secret),
        public=tuple(by_class[PUBLIC]),
        kind=SEAT if by_class[SEAT] else EPOCH if by_class[EPOCH] else PUBLIC,
    )


def check(kind: Any, *, event: bool) -> None:
    """Check a concrete command or event type with everything in it. Raises VisibilityError.

    Beyond the classes: an event with a secret of a seat names that seat in public, and there are neither maps nor
    floats, which have no one spelling in a ledger.
    """
    found = classes(kind)
    if event and found.kind == SEAT and "seat" not in found.public:
        raise VisibilityError(f"{kind.DESCRIPTOR.full_name} has a secret of a seat, but no public field `seat`")
    _check_spelling(kind.DESCRIPTOR, set())


def _check_spelling(descriptor: Any, seen: set[str]) -> None:
    """No maps and no floats at any depth."""
    if descriptor.full_name in seen:
        return
    seen.add(descriptor.full_name)
    for field in descriptor.fields:
        held = field.message_type
        if field.type in (field.TYPE_FLOAT, field.TYPE_DOUBLE) or (held and held.GetOptions().map_entry):
            raise VisibilityError(f"{field.full_name}: floats and maps have no place in a ledger")
        if held is not None:
            _check_spelling(held, seen)


def split(message: M) -> tuple[M, M | None]:
    """The public and the secret part of a concrete command or event.

    The secret part is None if the type has no secret field; else it is a message, even if empty.
    `merge(*split(m)) == m`.
    """
    kind: Any = type(message)
    found = classes(kind)
    if found.kind == PUBLIC:
        return message, None
    public, secret = type(message)(), type(message)()
    public.CopyFrom(message)
    secret.CopyFrom(message)
    for name in found.secret:
        public.ClearField(name)
    for name in found.public:
        secret.ClearField(name)
    return public, secret


def holds_any(message: Message, names: tuple[str, ...]) -> bool:
    """True if one of these fields is set."""
    kind: Any = type(message)
    absent = _may_be_absent(kind)
    for name in names:  # noqa: SIM110  # a generator costs twice as much, for every event
        if message.HasField(name) if name in absent else getattr(message, name):
            return True
    return False


@cache
def _may_be_absent(kind: Any) -> frozenset[str]:
    """The fields of `kind` that can be there or not; the others are set if they are not zero or empty."""
    return frozenset(field.name for field in kind.DESCRIPTOR.fields if field.has_presence)


class Overriding(ValueError):
    """A secret part holds public fields, or a public part secret ones."""


def merge(public: M, secret: M) -> M:
    """The whole message from its parts. Raises Overriding if one holds fields of the other."""
    kind: Any = type(public)
    found = classes(kind)
    if holds_any(public, found.secret) or holds_any(secret, found.public):
        raise Overriding(f"the parts of {public.DESCRIPTOR.full_name} overlap")
    whole = type(public)()
    whole.CopyFrom(public)
    whole.MergeFrom(secret)
    return whole


def redact(message: M, viewer: int | None, *, giver: int | None = None, revealed: bool = False) -> M:
    """What `viewer` (a seat, or None for a spectator) may see of a concrete message.

    `giver` is the seat that gave a command (events name their seat themselves); `revealed` says that the
    epoch of the message is revealed.
    """
    kind: Any = type(message)
    found = classes(kind)
    if found.kind == PUBLIC or revealed:
        return message
    seat = giver if giver is not None else getattr(message, "seat", None)
    if found.kind == SEAT and viewer is not None and viewer == seat:
        return message
    return split(message)[0]
