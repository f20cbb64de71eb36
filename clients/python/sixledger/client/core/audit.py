"""Playing the match again from what is revealed: the deals and the rules, as soon as their epoch is over.

While an epoch runs nobody but the service can tell whether a card came from the seed, or what a sealed choice must
lead to. With the record that ends the epoch everything is open, and the rules are run on a state that nobody
but they have led to. What comes out must be what is recorded: a deal from another seed, a score, a row, a result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from google.protobuf.message import Message
from sixledger.client.core.recorded import Recorded, Replayed
from sixledger.engine.errors import EpochSealed, IllegalCommand, MalformedCommand
from sixledger.engine.game import ABORTED, FORFEIT, RESIGNED
from sixledger.ledger import hashing
from sixledger.ledger.draft import Draft, Watched
from sixledger.ledger.faults import ILLEGAL_COMMAND, RULES_DIVERGENCE, LedgerFault, tampered
from sixledger.ledger.match import Match
from sixledger.ledger.records import Facts
from sixledger.ledger.spelling import spelling_of
from sixledger.ledger.verify.compare import compare_events
from sixledger.ledger.verify.rerun import CONFUSED
from sixledger.v1 import record_pb2

SEAT, TIMER, TABLE = record_pb2.CAUSE_KIND_SEAT, record_pb2.CAUSE_KIND_TIMER, record_pb2.CAUSE_KIND_TABLE
_LEAVING = {"resigned": RESIGNED, "forfeited": FORFEIT, "aborted": ABORTED}


class Untidy(Exception):
    """A record is for the thorough way, which says what is wrong with it, if anything is."""


class Audit:
    """The match as the rules alone lead it, up to the first record of which something is still sealed."""

    def __init__(self) -> None:
        """Nothing is played yet."""
        #: The next record to play again.
        self._next = 0
        self._state: Any = None
        #: True if a record of a revealed epoch keeps its command secret: then the state cannot be followed any further.
        self._blind = False

    @property
    def played(self) -> int:
        """How many records were played again, and are what the seeds and the rules say."""
        return self._next

    def follow(self, match: Match, received: Sequence[Recorded]) -> None:
        """Play again what can be played by now. Raises LedgerFault with the number of the record in `seq`.

        `match` stands after the last record received.
        """
        while self._next < len(received) and not self._blind:
            try:
                if not self.play(match, received[self._next].facts):
                    return
            except LedgerFault as fault:
                fault.seq = self._next
                raise

    def play(self, match: Match, facts: Facts) -> bool:
        """Play the next record again; False if that has to wait for a seed. Raises LedgerFault."""
        played = self._play(match, facts)
        self._next += played
        return played

    def replay(self, match: Match, held: Recorded, openings: Sequence[tuple[int, bytes, bytes]]) -> Replayed | None:
        """Play the next record again, an ordinary command of a seat all of whose seals are opened by `openings`.

        None if it is no such record: nothing has changed then. Raises Untidy if anything is not, byte by byte, what it
        should be: the audit is then worth nothing. The signature is not looked at.
        """
        facts, game, state = held.before, match.game, self._state
        body, owners, recorded, seals = facts.body, facts.owners, facts.events, facts.seals
        if state is None or self._blind or not body.command or not len(openings) == len(seals) == len(facts.closed):
            return None
        cause = body.cause
        if cause.kind != SEAT or body.reveals or game.epoch(state) > match.revealed:
            return None
        spelling = spelling_of(game.schema)
        opened: list[tuple[int, Message]] = []
        number = used = 0
        try:
            start = hashing.seal_start(match.match_id, held.seq)
            for at, (index, salt, value) in enumerate(openings):
                if index != at or len(salt) != 32 or hashing.committed(start, at, salt, value) != seals[at][2]:
                    raise Untidy
            if owners and owners[0] < 0:
                spelled, data, signature = spelling.unseal(openings[0][2])
                if spelled.public != body.command:
                    raise Untidy
                command, used = spelled.message, 1
            else:
                command, data, signature = facts.command, body.command, facts.signature
            evolve, total = game.evolve, len(recorded)
            secret = owners[used] if used < len(owners) else -1
            for event in game.play(state, cause.seat, command, match.seeds.chance(match.entropy)):
                if number == secret:
                    whole = spelling.event(event)
                    if whole.value != openings[used][2] or whole.public != recorded[number]:
                        raise Untidy
                    opened.append((number, event))
                    used += 1
                    secret = owners[used] if used < len(owners) else -1
                elif number >= total or recorded[number] != event:
                    raise Untidy
                number += 1
                evolve(state, event)
        except CONFUSED as error:
            raise Untidy from error
        if number != total or used != len(owners):
            raise Untidy
        self._next += 1
        return Replayed(command, data, signature, opened)

    def _play(self, match: Match, facts: Facts) -> bool:
        """Play a record again; False if that has to wait for a seed."""
        body, game, state = facts.body, match.game, self._state
        if state is None:
            return self._start(match, facts)
        if game.epoch(state) > match.revealed:
            return False
        if not body.command:
            return self._take_step(match, facts)
        if facts.command_bytes is None:
            self._blind = True
            return False
        cause, command = body.cause, facts.command
        # That the seat answers an open decision was seen when the record came, in a state with the same events.
        if cause.kind == TIMER and command != game.legal(state, cause.seat)[0]:
            message = "the timer played another command than the first legal one of the seat"
            raise LedgerFault(RULES_DIVERGENCE, "rules", message)
        seat = None if cause.kind == TABLE else cause.seat
        # What ends an epoch may deal for the next one: then it is played again when that one is over.
        after = game.copy(state) if body.reveals else state
        done = self._compare(match, facts, after, lambda chance: game.play(after, seat, command, chance))
        if done:
            self._state = after
        return done

    def _start(self, match: Match, facts: Facts) -> bool:
        """The record that seals the entropy deals for the first epoch."""
        game, steps = match.game, [step.WhichOneof("step") for step in facts.body.lifecycle]
        if "sealed" not in steps:
            return True
        if not match.revealed:
            return False
        state = game.blank()
        done = self._compare(match, facts, state, lambda chance: game.start(state, match.setup, chance))
        if done:
            self._state = state
        return done

    def _take_step(self, match: Match, facts: Facts) -> bool:
        """A step in the life of the match: those that end it have events, others none."""
        game, body, state = match.game, facts.body, self._state
        step = body.lifecycle[0].WhichOneof("step") if body.lifecycle else None
        reason = _LEAVING.get(step or "")
        seat = body.cause.seat if step in ("resigned", "forfeited") else None
        return self._compare(match, facts, state, lambda _: game.leave(state, reason, seat) if reason else ())

    @staticmethod
    def _compare(match: Match, facts: Facts, state: Any, run: Any) -> bool:
        """Run the rules, apply what they say to `state`, and compare it with the record; False: a seed is missing."""
        game, recorded = match.game, facts.events
        chance = Watched(match.seeds.chance(match.entropy))
        same, number = True, 0
        happened: list[tuple[Message, int]] = []
        drawn: set[int] = set()
        whole = True
        try:
            events: Iterable[Message] = run(chance)
            for event in events:
                if chance.drew:
                    drawn.add(number)
                    chance.drew = False
                happened.append((event, game.epoch(state)))
                same = same and number < len(recorded) and recorded[number] == event
                number += 1
                game.evolve(state, event)
        except EpochSealed:
            whole = False
        except (IllegalCommand, MalformedCommand) as error:
            raise LedgerFault(ILLEGAL_COMMAND, "rules", f"the command is not allowed: {error}") from None
        except CONFUSED as error:
            raise tampered("rules", f"the act cannot happen here ({type(error).__name__})") from None
        if same and (number == len(recorded) or not whole):
            return whole
        body = facts.body
        draft = Draft(body.cause, body.time_us, match, body.cause.decision, 0, events=happened, drawn=drawn)
        compare_events(facts, draft, match.revealed, whole=whole)
        return whole
