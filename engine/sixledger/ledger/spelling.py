"""How the commands and events of a game come to be bytes, remembered for those that come again and again.

Most commands are one of a few hundred (a card, a row), and games share the messages of their commonest events.
Putting such a message together anew costs more than the rules that it obeys.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeVar

from google.protobuf.message import Message
from sixledger.engine import visibility
from sixledger.engine.schema import Schema, parse_strict
from sixledger.ledger import wire
from sixledger.v1 import game_pb2, record_pb2

#: Messages of one kind that are kept at most.
KEPT = 4096
#: Commands and events of at most so many bytes are worth it. Longer events, such as hands, hardly come again.
SMALL_COMMAND, SMALL_EVENT = 64, 24
_EVENT = wire.key(record_pb2.Body.EVENTS_FIELD_NUMBER)

K = TypeVar("K")
V = TypeVar("V")


class Command(NamedTuple):
    """A command as a record holds it."""

    #: Whole; not to be changed.
    message: Any
    #: `Body.command`: the bytes as they were given if nothing is secret, else those of the public part.
    public: bytes
    is_sealed: bool

    def __repr__(self) -> str:
        """Without the command, which may be secret."""
        return f"Command({type(self.message).__name__})"


class Event(NamedTuple):
    """An event as a record holds it."""

    #: Its public part as a field of the body, with its key.
    field: bytes
    #: What its seal holds; None if nothing is secret.
    value: bytes | None
    #: The seats that may open it at once, as a bit set.
    audience: int

    def __repr__(self) -> str:
        """Without the value, which is secret."""
        return f"Event(audience={self.audience})"


class Unsealed(NamedTuple):
    """The command in an opened seal."""

    command: Command
    #: The bytes of the whole command.
    data: bytes
    signature: bytes

    def __repr__(self) -> str:
        """Without the command, which is secret."""
        return f"Unsealed({type(self.command.message).__name__})"


class Spelling:
    """The spelling of one game. What it keeps serves every match of the game: see `spelling_of`."""

    def __init__(self, schema: Schema) -> None:
        """`schema` is that of the game."""
        self._schema = schema
        self._commands: dict[bytes, Command] = {}
        #: By identity. Holding the event keeps its identity from being given to another.
        self._events: dict[int, tuple[Message, Event]] = {}
        self._unsealed: dict[bytes, Unsealed] = {}
        #: The keys before an event of the game, from the outside in.
        self._keys = {
            kind: (wire.key(outer), wire.key(inner)) for kind, (outer, inner) in schema.events.numbers().items()
        }

    def command(self, data: bytes) -> Command:
        """The command in `data`, a serialised `sixledger.v1.Command`. Raises MalformedCommand."""
        found = self._commands.get(data)
        if found is None:
            message = self._schema.read_command(data)
            found = self.spell(message, data)
            if len(data) <= SMALL_COMMAND:
                _keep(self._commands, data, found)
        return found

    def spell(self, message: Any, data: bytes) -> Command:
        """The command `message`, whose bytes are `data`."""
        secret = _classes(message).secret
        if not secret:
            return Command(message, data, False)
        public = game_pb2.Command()
        self._schema.commands.pack_without(public, message, secret)
        return Command(message, public.SerializeToString(deterministic=True), True)

    def event(self, event: Message) -> Event:
        """An event in its parts."""
        kept = self._events.get(id(event))
        if kept is not None:
            return kept[1]
        classes, events = _classes(event), self._schema.events
        if not classes.secret:
            found = Event(self._field(event), None, 0)
        else:
            public, whole = game_pb2.Event(), game_pb2.Event()
            events.pack_without(public, event, classes.secret)
            events.pack_without(whole, event, classes.public)
            found = Event(
                _in_body(public.SerializeToString(deterministic=True)),
                whole.SerializeToString(deterministic=True),
                audience(event),
            )
        if len(found.field) <= SMALL_EVENT and event.ByteSize() <= SMALL_EVENT:
            _keep(self._events, id(event), (event, found))
        return found

    def _field(self, event: Message) -> bytes:
        """An event without secrets as a field of the body."""
        keys = self._keys.get(type(event))
        if keys is None:  # a game of another distribution: its events travel in an Any
            return _in_body(self._schema.events.pack(event).SerializeToString(deterministic=True))
        data = event.SerializeToString(deterministic=True)
        inner = keys[1] + wire.varint(len(data)) + data
        return _in_body(keys[0] + wire.varint(len(inner)) + inner)

    def unseal(self, value: bytes) -> Unsealed:
        """What the opened seal of a command holds. Raises Malformed or MalformedCommand."""
        found = self._unsealed.get(value)
        if found is None:
            held = parse_strict(record_pb2.SealedCommand, value)
            found = Unsealed(self.command(held.command), held.command, held.signature)
            if not held.signature and len(value) <= SMALL_COMMAND:  # a signed one never comes again
                _keep(self._unsealed, value, found)
        return found


def audience(event: Any) -> int:
    """The bit set of seats that may open the secret part of an event at once."""
    kind: Any = type(event)
    return 1 << event.seat if visibility.classes(kind).kind == visibility.SEAT else 0


#: The one object of each game.
spelling_of: Callable[[Schema], Spelling] = cache(Spelling)


def _in_body(envelope: bytes) -> bytes:
    return _EVENT + wire.varint(len(envelope)) + envelope


def _classes(message: Message) -> visibility.Classes:
    kind: Any = type(message)
    return visibility.classes(kind)


def _keep(kept: dict[K, V], key: K, value: V) -> None:
    if len(kept) >= KEPT:
        kept.clear()
    kept[key] = value
