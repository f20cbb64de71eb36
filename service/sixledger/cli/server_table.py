"""A match on a server: the person plays one seat, own bots the others, every act signed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from google.protobuf.message import Message
from rich.console import Console
from rich.text import Text
from sixledger.cli.bot_threads import BotThreads
from sixledger.cli.failures import Failure, unusable
from sixledger.cli.remote import connected, find_match, names_of, with_deal_limits
from sixledger.cli.table_talk import NotNow, Talk
from sixledger.client import Client, SeatedMatch
from sixledger.client.errors import Closed, IllegalCommand, Malformed, MatchPaused, StaleDecision, WrongPhase
from sixledger.engine import errors as engine_errors
from sixledger.engine.bots import Policy
from sixledger.engine.game import Game, Setup
from sixledger.ledger import clocks
from sixledger.ledger.verify import verify
from sixledger.v1 import record_pb2, replay_service_pb2

#: The seat of the person.
PERSON = 0


class ServerTable:
    """The person's place at a table of a server."""

    def __init__(self, game: Game[Any], seated: SeatedMatch, names: list[str], console: Console) -> None:
        """`seated` has joined. How fair the deal is will be said on `console`."""
        self.game = game
        self.names = names
        self.viewer = seated.seat
        self._seated = seated
        self._console = console
        self._told = 0

    @property
    def over(self) -> bool:
        """True once the match has ended."""
        return self._seated.over

    def view(self) -> Any:
        """What the person sees."""
        return self._seated.view()

    def advance(self) -> list[Any]:
        """Wait until the person must decide or the match is over; what happened since last time."""
        self._seated.turn()
        records = self._seated.records
        fresh = records[self._told :]
        events = [event for recorded in fresh for event in recorded.events]
        self._told = len(records)
        if any(step.HasField("sealed") for recorded in fresh for step in recorded.body.lifecycle):
            self._console.print(Text(f"Deal: {self._seated.fairness}.", "faint"), soft_wrap=True)
        return events

    def submit(self, command: Message) -> None:
        """The person's command. Raises IllegalCommand, MalformedCommand or NotNow."""
        before = self._seated.match.seq
        try:
            self._seated.play(command)
        except MatchPaused as error:
            self._seated.refresh()
            raise NotNow("The match is paused. It goes on when its owner says so.") from error
        except (IllegalCommand, StaleDecision, WrongPhase) as error:
            self._seated.refresh()
            if self._seated.match.seq != before:
                raise NotNow("Too late: the table has moved on.") from error
            if not isinstance(error, IllegalCommand):
                raise
            raise engine_errors.IllegalCommand(error.rule, error.message) from error
        except Malformed as error:
            raise engine_errors.MalformedCommand("", error.message) from error

    def resign(self) -> None:
        """The person leaves: the match ends."""
        self._seated.resign()

    def seconds_left(self) -> float | None:
        """What the person has left for a decision; None: as long as they like."""
        state = self._seated.clock()
        if state is None or not state.seats:
            return None
        return state.seats[self.viewer].remaining_us / 1_000_000


def play_on_server(
    server: str,
    tls: str | None,
    game: Game[Any],
    setup: Setup,
    names: list[str],
    mind: Policy,
    *,
    seed: int | None,
    clock: record_pb2.Clock | None = None,
    on_timeout: record_pb2.TimeoutPolicy.ValueType = clocks.NO_POLICY,
    folder: Path,
    console: Console,
) -> tuple[Path, replay_service_pb2.VerifyReport]:
    """Open a match, seat everybody, play; the file of the person's ledger and what the verifier says of it."""
    with connected(server, tls) as client:
        match_id = client.matches.create(
            game.id, seats=setup.seats, options=setup.options, clock=with_deal_limits(clock), on_timeout=on_timeout
        ).match_id
        folder.mkdir(parents=True, exist_ok=True)
        stem = folder / match_id.hex()[:12]
        console.print(Text(f"match {match_id.hex()} on {server}", "faint"), soft_wrap=True)
        pass_file = stem.with_suffix(".credentials.json")
        seated = client.matches.join(match_id, PERSON, display_name=names[PERSON], save_to=pass_file)
        with seated:
            _play(client, match_id, ServerTable(game, seated, names, console), seated, mind, seed, console)
            path = seated.export(stem.with_suffix(".ledger.jsonl"))
            return path, verify(path, trusted=[client.catalog.origin()])


def join_on_server(
    server: str,
    tls: str | None,
    game: Game[Any],
    table: str | None,
    name: str,
    *,
    invitation: str,
    folder: Path,
    console: Console,
) -> tuple[Path, replay_service_pb2.VerifyReport]:
    """Sit down at a table of others, by default the newest open one of the game, and play; as `play_on_server`."""
    with connected(server, tls) as client:
        if table is not None:
            match_id = find_match(client, table)
        else:
            found = client.lobby.tables(game=game.id, limit=1)
            if not found:
                raise Failure(f"no table of {game.id} with a free seat on {server}; open one: leave --join out")
            match_id = found[0].match_id
        info = client.matches.get(match_id).match
        if info.opened.ruleset.id != game.id:
            raise unusable(f"the table {match_id.hex()} plays {info.opened.ruleset.id}, not {game.id}")
        folder.mkdir(parents=True, exist_ok=True)
        stem = folder / match_id.hex()[:12]
        seated = client.matches.join(
            match_id,
            display_name=name,
            save_to=stem.with_suffix(".credentials.json"),
            invitation=invitation,
        )
        with seated:
            place = f"match {match_id.hex()} on {server}, seat {seated.seat}: waiting for the others"
            console.print(Text(place, "faint"), soft_wrap=True)
            if info.opened.ready_seats:
                seated.ready()
            seated.turn()
            if seated.match.state is None:
                raise Failure("the table was aborted before the game began")
            Talk(ServerTable(game, seated, names_of(client, match_id), console), console).play()
            path = seated.export(stem.with_suffix(".ledger.jsonl"))
            return path, verify(path, trusted=[client.catalog.origin()])


def _play(
    client: Client,
    match_id: bytes,
    table: ServerTable,
    seated: SeatedMatch,
    mind: Policy,
    seed: int | None,
    console: Console,
) -> None:
    others = {seat: (name, mind) for seat, name in enumerate(table.names) if seat != PERSON}
    # A bot that cannot go on must not leave the person waiting: closing the table ends the wait.
    with BotThreads(client, match_id, others, seed=seed, on_failure=seated.close) as bots:
        try:
            Talk(table, console).play()
        except Closed:
            bots.check()
            raise Failure("the connection was closed") from None
