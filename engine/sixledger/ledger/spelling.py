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
#: Commands of at most so many bytes are worth it.
SMALL_COMMAND = 64
_EVENT = wire.key(record_pb2.Body.EVENTS_FIELD_NUMBER)
#: Where an event is spelled.
_IN_BODY, _IN_SEAL = 0, 1

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
    #: Its public part; None if it has no other. Not to be changed.
    public: Message | None

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
        self._shared = schema.shared
        self._commands: dict[bytes, Command] = {}
        #: By identity. Holding the event keeps its identity from being given to another.
        self._events: dict[int, tuple[Message, Event]] = {}
        self._unsealed: dict[bytes, Unsealed] = {}
        #: Field numbers of each event: of the game in the envelope, and of the event in the game's.
        self._numbers = schema.events.numbers()
        #: By type and length of an event: what stands before it in the body, and in a seal.
        self._starts: dict[tuple[type[Message], int], tuple[bytes, bytes]] = {}

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
        classes = _classes(event)
        if not classes.secret:
            found = Event(self._spelled(event, _IN_BODY), None, 0, None)
        else:
            public, secret = _without(event, classes.secret), _without(event, classes.public)
            found = Event(self._spelled(public, _IN_BODY), self._spelled(secret, _IN_SEAL), audience(event), public)
        if type(event) in self._shared:
            _keep(self._events, id(event), (event, found))
        return found

    def _spelled(self, event: Message, place: int) -> bytes:
        """An event, as it is: `_IN_BODY` as a field of the body with its key, `_IN_SEAL` as a serialised Event."""
        if not self._numbers:  # a game of another distribution: its events travel in an Any
            envelope: bytes = self._schema.events.pack(event).SerializeToString(deterministic=True)
            return envelope if place == _IN_SEAL else _EVENT + wire.varint(len(envelope)) + envelope
        data = event.SerializeToString(deterministic=True)
        kind = type(event), len(data)
        starts = self._starts.get(kind)
        if starts is None:
            starts = self._start(*kind)
            _keep(self._starts, kind, starts)
        return starts[place] + data

    def _start(self, kind: type[Message], length: int) -> tuple[bytes, bytes]:
        """What stands before an event of so many bytes, in the body and in a seal."""
        outer, inner = self._numbers[kind]
        held = wire.key(inner) + wire.varint(length)
        envelope = wire.key(outer) + wire.varint(len(held) + length) + held
        return _EVENT + wire.varint(len(envelope) + length) + envelope, envelope

    def unseal(self, value: bytes) -> Unsealed:
        """What the opened seal of a command holds. Raises Malformed or MalformedCommand."""
        found = self._unsealed.get(value)
        if found is None:
            data, signature = _signed_command(value) or _sealed_command(value)
            found = Unsealed(self.command(data), data, signature)
            if not signature and len(value) <= SMALL_COMMAND:  # a signed one never comes again
                _keep(self._unsealed, value, found)
        return found


def _signed_command(value: bytes) -> tuple[bytes, bytes] | None:
    """Command and signature in a SealedCommand that holds both and is spelled as deterministic serialisation does.

    None for any other: these alone come by thousands, each of them once.
    """
    end = len(value) - 66
    if not 2 < end < 0x80 or value[0] != 0x0A or value[1] != end - 2 or value[end : end + 2] != b"\x12\x40":
        return None
    return value[2:end], value[end + 2 :]


def _sealed_command(value: bytes) -> tuple[bytes, bytes]:
    """Command and signature in any SealedCommand. Raises Malformed."""
    held = parse_strict(record_pb2.SealedCommand, value)
    return held.command, held.signature


def audience(event: Any) -> int:
    """The bit set of seats that may open the secret part of an event at once."""
    kind: Any = type(event)
    return 1 << event.seat if visibility.classes(kind).kind == visibility.SEAT else 0


#: The one object of each game.
spelling_of: Callable[[Schema], Spelling] = cache(Spelling)


def _without(event: Message, names: tuple[str, ...]) -> Message:
    """A copy of an event without these fields."""
    rest = type(event)()
    rest.CopyFrom(event)
    for name in names:
        rest.ClearField(name)
    return rest


def _classes(message: Message) -> visibility.Classes:
    kind: Any = type(message)
    return visibility.classes(kind)


def _keep(kept: dict[K, V], key: K, value: V) -> None:
    if len(kept) >= KEPT:
        kept.clear()
    kept[key] = value
