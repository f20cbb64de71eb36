"""The quick way through an ordinary command: replay it in place and compare as it happens.

Most records of a ledger are commands with every opening at hand and every seed revealed. For them the draft
of `decide` is more than is needed to accept. Whatever is not exactly as it should be is left to the thorough
way, which names it: what is accepted here would be accepted there.
"""

from __future__ import annotations

from copy import copy
from functools import cache
from typing import Any, TypeVar

from google.protobuf.message import Message
from sixledger.engine import visibility
from sixledger.engine.errors import MalformedCommand
from sixledger.engine.schema import Malformed, Schema, parse_strict
from sixledger.ledger.acts import act_fault
from sixledger.ledger.keys import ActKind
from sixledger.ledger.match import Match, audience
from sixledger.ledger.records import Parts
from sixledger.ledger.seeds import SeedChain
from sixledger.v1 import game_pb2, record_pb2

#: Commands and events that are kept at most, and the size of an event that is worth it, in bytes.
KEPT, SMALL = 4096, 16
SEAT = record_pb2.CAUSE_KIND_SEAT

K = TypeVar("K")
V = TypeVar("V")


class Untidy(Exception):
    """The record needs the thorough way. The match may have changed."""


class Quick:
    """Accepts ordinary commands of one game. What it keeps serves every ledger of the game: see `quick_for`."""

    def __init__(self, schema: Schema) -> None:
        """`schema` is that of the game."""
        self._schema = schema
        #: What commands come to, by their bytes: most are given again and again.
        self._commands: dict[bytes, tuple[Any, bytes, bool]] = {}
        #: What events with secret fields come to, by identity: games share the commonest. Holding the event keeps
        #: its identity from being given to another.
        self._sealed: dict[int, tuple[Message, tuple[Message, bytes, int]]] = {}
        self._unsealed: dict[bytes, tuple[Any, bytes, bytes, bytes]] = {}

    def replay(self, match: Match, body: record_pb2.Body, raw: bytes, parts: Parts, seeds: SeedChain) -> bool:
        """Move `match` over the record and return True; False if the record is of another kind.

        `raw` are the bytes of the body, `seeds` knows every epoch that the record deals or reveals. False leaves
        the match as it was. Raises Untidy, or what a game raises for an illegal command: then the match may have
        changed.
        """
        if not body.command or body.lifecycle or match.state is None or match.over or match.paused:
            return False
        if body.time_us > match.first_deadline_us:
            return False
        if len(parts.openings) != len(parts.seals):
            return False
        size = body.ByteSize()
        body.DiscardUnknownFields()
        # Twice: unknown fields may be as long as what another spelling of the known ones saves.
        if not size == body.ByteSize() == len(raw):
            return False
        cause, game, state = body.cause, match.game, match.state
        seat, decision, epoch = cause.seat, match.decision, match.epoch
        if cause.kind != SEAT or cause.decision != decision or seat >= len(match.seats):
            return False
        if cause.HasField("timer") or cause.HasField("armed_seq"):
            return False
        command, data, signature, used = self._command(body, parts, seat, epoch)
        key = match.seats[seat].public_key
        if (key or signature or cause.key_id or cause.observed_head) and act_fault(
            match, cause, ActKind.COMMAND, data, key, signature
        ):
            return False
        events, seals = self._schema.events, parts.seals
        for event, recorded in zip(
            game.play(state, seat, command, seeds.chance(match.entropy)), body.events, strict=True
        ):
            kind: Any = type(event)
            if visibility.classes(kind).secret:
                if used == len(seals):
                    raise Untidy
                audience_, epoch_, _ = seals[used]
                expected, value, seats = self._sealed_parts(event)
                if audience_ != seats or epoch_ != game.epoch(state) or parts.openings[used][2] != value:
                    raise Untidy
                used += 1
            else:
                expected = event
            if events.held(recorded, kind) != expected:
                raise Untidy
            game.evolve(state, event)
        if used != len(seals):
            raise Untidy
        match.finish_record(parts.hash, body.time_us, decision, seat)
        self._reveal(match, body, seeds)
        return True

    def _reveal(self, match: Match, body: record_pb2.Body, seeds: SeedChain) -> None:
        """Check that the record reveals the epochs that ended with it, and no others."""
        due = match.epoch if match.over else match.epoch - 1
        if due == match.revealed and not body.reveals:
            return
        epochs = range(match.revealed + 1, due + 1)
        if [(reveal.epoch, reveal.chain) for reveal in body.reveals] != [(at, seeds.element(at)) for at in epochs]:
            raise Untidy
        match.learn(body)

    def _command(self, body: record_pb2.Body, parts: Parts, seat: int, epoch: int) -> tuple[Any, bytes, bytes, int]:
        """The command, its bytes, its signature, and how many seals it has."""
        public, _, secret = self._read(body.command)
        if not secret:
            return public, body.command, body.cause.signature, 0
        if not parts.seals or parts.seals[0][:2] != (1 << seat, epoch) or body.cause.signature:
            raise Untidy
        command, public_bytes, data, signature = self._unseal(parts.openings[0][2])
        if public_bytes != body.command:
            raise Untidy
        return command, data, signature, 1

    def _unseal(self, value: bytes) -> tuple[Any, bytes, bytes, bytes]:
        """The command in an opened seal, the bytes of its public part, its own bytes, and its signature."""
        found = self._unsealed.get(value)
        if found is None:
            try:
                sealed = parse_strict(record_pb2.SealedCommand, value)
            except Malformed as error:
                raise Untidy from error
            command, public_bytes, _ = self._read(sealed.command)
            found = (command, public_bytes, sealed.command, sealed.signature)
            if not sealed.signature:  # a signed one never comes again
                _keep(self._unsealed, value, found)
        return found

    def _read(self, data: bytes) -> tuple[Any, bytes, bool]:
        """The command in `data`, the bytes of its public part, and whether it has a secret one."""
        found = self._commands.get(data)
        if found is None:
            try:
                command = self._schema.read_command(data)
            except MalformedCommand as error:
                raise Untidy from error
            secret = _classes(command).secret
            public = game_pb2.Command()
            self._schema.commands.pack_without(public, command, secret)
            found = (command, public.SerializeToString(deterministic=True), bool(secret))
            _keep(self._commands, data, found)
        return found

    def _sealed_parts(self, event: Message) -> tuple[Message, bytes, int]:
        """The public part of an event with secret fields, the value of its seal, and who may open that at once."""
        found = self._sealed.get(id(event))
        if found is None:
            classes = _classes(event)
            public, whole = copy(event), game_pb2.Event()
            for name in classes.secret:
                public.ClearField(name)
            self._schema.events.pack_without(whole, event, classes.public)
            found = (event, (public, whole.SerializeToString(deterministic=True), audience(event)))
            if event.ByteSize() <= SMALL:
                _keep(self._sealed, id(event), found)
        return found[1]


#: The one object of each game.
quick_for = cache(Quick)


def _classes(message: Message) -> visibility.Classes:
    kind: Any = type(message)
    return visibility.classes(kind)


def _keep(kept: dict[K, V], key: K, value: V) -> None:
    if len(kept) >= KEPT:
        kept.clear()
    kept[key] = value
