"""Reading and wrapping the messages of a game.

A game speaks concrete messages (`SelectCard`, `CardPlaced`). On the wire they travel inside the
game's `Command` or `Event` (a oneof), and that inside the envelope of `sixledger.v1`, in the case
named like the game, or in `other` for games of other distributions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from google.protobuf import message_factory
from google.protobuf.message import DecodeError, Message
from sixledger.engine.errors import MalformedCommand
from sixledger.v1 import game_pb2

M = TypeVar("M", bound=Message)


def has_unknown_fields(message: Message) -> bool:
    """True if `message` holds, at any depth, a field that its schema does not have."""
    known = type(message)()
    known.CopyFrom(message)
    known.DiscardUnknownFields()
    return known.ByteSize() != message.ByteSize()


class Malformed(ValueError):
    """Bytes are no message of the expected type. The text holds no part of them."""


def parse_strict(kind: type[M], data: bytes) -> M:
    """Parse `data` as a `kind` without unknown fields at any depth. Raises Malformed."""
    message = kind()
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        raise Malformed(f"cannot be read as {kind.DESCRIPTOR.full_name}") from error
    size = message.ByteSize()
    message.DiscardUnknownFields()
    if message.ByteSize() != size:
        raise Malformed(f"has fields that {kind.DESCRIPTOR.full_name} does not know")
    return message


class Wrapping:
    """Wraps one kind of message (commands, or events) of one game into its envelope and back."""

    def __init__(self, game: str, envelope: type[Message], outer: type[Message], oneof: str) -> None:
        """`outer` is the game's `Command` or `Event`, `oneof` the name of its oneof."""
        self._envelope: type[Any] = envelope
        self._outer: type[Any] = outer
        self._oneof = oneof
        self._case = game if game in envelope.DESCRIPTOR.fields_by_name else "other"
        fields: Any = outer.DESCRIPTOR.oneofs_by_name[oneof].fields
        #: Concrete message type → its case in the game's oneof.
        self.cases: dict[type[Message], str] = {
            message_factory.GetMessageClass(field.message_type): field.name for field in fields
        }

    def numbers(self) -> dict[type[Message], tuple[int, int]]:
        """Field numbers of each concrete message: of the game in the envelope, and of the message in the game's.

        Empty for a game of another distribution, whose messages are packed another way.
        """
        if self._case == "other":
            return {}
        outer = self._envelope.DESCRIPTOR.fields_by_name[self._case].number
        fields = self._outer.DESCRIPTOR.fields_by_name
        return {kind: (outer, fields[case].number) for kind, case in self.cases.items()}

    def pack(self, message: Message) -> Any:
        """The envelope that holds `message`, a concrete message of the game."""
        envelope = self._envelope()
        self.pack_into(envelope, message)
        return envelope

    def pack_into(self, envelope: Any, message: Message) -> None:
        """Put `message` into an empty `envelope`."""
        case = self.cases[type(message)]
        if self._case == "other":
            outer = self._outer()
            getattr(outer, case).CopyFrom(message)
            envelope.other.Pack(outer, deterministic=True)
        else:
            getattr(getattr(envelope, self._case), case).CopyFrom(message)

    def pack_without(self, envelope: Any, message: Message, names: tuple[str, ...]) -> None:
        """Put `message` without its fields `names` into an empty `envelope`."""
        if self._case == "other":
            rest: Any = type(message)()
            rest.CopyFrom(message)
            for name in names:
                rest.ClearField(name)
            self.pack_into(envelope, rest)
            return
        rest = getattr(getattr(envelope, self._case), self.cases[type(message)])
        rest.CopyFrom(message)
        for name in names:
            rest.ClearField(name)

    def held(self, envelope: Any, kind: type[Message]) -> Any:
        """The `kind` that `envelope` holds, None if it holds something else."""
        if self._case == "other":
            message = self.unpack(envelope)
            return message if type(message) is kind else None
        outer, case = getattr(envelope, self._case), self.cases[kind]
        return getattr(outer, case) if outer.HasField(case) else None

    def unpack(self, envelope: Any) -> Any:
        """The concrete message inside `envelope`. Raises Malformed if it is none of this game."""
        outer = getattr(envelope, self._case)
        case = outer.WhichOneof(self._oneof) if self._case != "other" else None
        if case is not None:  # then it is of this game, too
            return getattr(outer, case)
        if envelope.WhichOneof("game") != self._case:
            raise Malformed("is of another game")
        if self._case == "other":
            packed = outer
            if not packed.Is(self._outer.DESCRIPTOR):
                raise Malformed("is of another game")
            outer = parse_strict(self._outer, packed.value)
        case = outer.WhichOneof(self._oneof)
        if case is None:
            raise Malformed(f"names no {self._oneof} of the game")
        return getattr(outer, case)


class Holder:
    """Puts one message of a game (its options, view or position) into its envelope and back."""

    def __init__(self, game: str, envelope: type[Message], kind: type[Message]) -> None:
        """`kind` is the game's `Options`, `View` or `Position`."""
        self._envelope: type[Any] = envelope
        self.kind: type[Any] = kind
        self._case = game if game in envelope.DESCRIPTOR.fields_by_name else "other"

    def pack(self, message: Message) -> Any:
        """The envelope that holds `message`."""
        envelope = self._envelope()
        if self._case == "other":
            envelope.other.Pack(message, deterministic=True)
        else:
            getattr(envelope, self._case).CopyFrom(message)
        return envelope

    def unpack(self, envelope: Any) -> Any:
        """The message inside `envelope`; an empty envelope gives an empty message. Raises Malformed."""
        case = envelope.WhichOneof("game")
        if case is None:
            return self.kind()
        if case != self._case:
            raise Malformed("is of another game")
        held = getattr(envelope, case)
        if case != "other":
            return held
        if not held.Is(self.kind.DESCRIPTOR):
            raise Malformed("is of another game")
        return parse_strict(self.kind, held.value)


class Schema:
    """The messages of one game: wrapping, unwrapping and strict reading."""

    def __init__(
        self,
        game: str,
        *,
        command: type[Message],
        event: type[Message],
        options: type[Message],
        view: type[Message],
        position: type[Message],
        shared: Iterable[type[Message]] = (),
    ) -> None:
        """Take the five top-level message types of the game's proto package.

        `shared` are the types of events of which the game hands out the same message again and again: how such a
        message is spelled is remembered.
        """
        self.shared = frozenset(shared)
        self.commands = Wrapping(game, game_pb2.Command, command, "command")
        self.events = Wrapping(game, game_pb2.Event, event, "event")
        self.options = Holder(game, game_pb2.Options, options)
        self.view = Holder(game, game_pb2.View, view)
        self.position = Holder(game, game_pb2.Position, position)

    def read_command(self, data: bytes) -> Any:
        """The concrete command in `data`, a serialised `sixledger.v1.Command`. Raises MalformedCommand."""
        try:
            return self.commands.unpack(parse_strict(game_pb2.Command, data))
        except Malformed as error:
            raise MalformedCommand("", f"the command {error}") from error
