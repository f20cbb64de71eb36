"""Playing games, several at once, and leaving no table stuck behind.

A policy that raises, returns no command, or returns one that the rules refuse is a crash. Then the seat
resigns, so that nobody waits for it; or, if asked for, it is left as it is, with its credentials in a file.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Event, Lock
from typing import Any

from google.protobuf.message import Message
from sixledger.cli.bots.policies import Mind, told
from sixledger.cli.bots.tables import Seeker
from sixledger.cli.bots.tally import Played
from sixledger.client import Client, ClientError, Credentials, run_bot
from sixledger.client.errors import (
    Closed,
    IllegalCommand,
    Malformed,
    SeatTaken,
    ServiceError,
    StaleDecision,
    WrongPhase,
)
from sixledger.engine.bots import Policy


class PolicyCrashed(Exception):
    """The policy raised, or gave no command. The text says which."""


@dataclass(slots=True)
class Measured:
    """A policy with a stop-watch: what it raises is its own fault and named so."""

    policy: Policy
    played: Played

    def __call__(self, view: Any, random: Random) -> Message:
        """The command of the policy. Raises PolicyCrashed."""
        started = time.perf_counter()
        try:
            command: Any = self.policy(view, random)
        except Exception as error:
            raise PolicyCrashed(told(error)) from error
        finally:
            spent = time.perf_counter() - started
            self.played.decisions += 1
            self.played.thinking_s += spent
            self.played.longest_s = max(self.played.longest_s, spent)
        if not isinstance(command, Message):
            raise PolicyCrashed(f"it returned a {type(command).__name__} where a command of the game must be")
        return command


@dataclass(slots=True)
class Runner:
    """Plays `games` games, `jobs` at once."""

    client: Client
    seeker: Seeker
    mind: Mind
    #: None: until it is stopped.
    games: int | None
    jobs: int
    name: str
    #: Randomness of the n-th game.
    random: Callable[[int], Random]
    #: Where credentials are kept while a seat is in play.
    folder: Path
    #: True: a crashed seat is left for somebody to go on with; else it resigns.
    leave: bool
    #: What lets it join a private table.
    invitation: str
    #: Called with each game when it is over, one at a time.
    told: Callable[[Played], None]
    #: Called with the traceback of a crash.
    trace: Callable[[str], None] = lambda _: None
    played: list[Played] = field(default_factory=list)
    _begun: int = 0
    _sitting: dict[tuple[bytes, int], Credentials] = field(default_factory=dict, repr=False)
    _stop: Event = field(default_factory=Event)
    _lock: Any = field(default_factory=Lock, repr=False)

    def run(self) -> None:
        """Play. Raises what the client raises; KeyboardInterrupt stops it, and running games end as `interrupted`."""
        with ThreadPoolExecutor(self.jobs, thread_name_prefix="bot") as pool:
            jobs = [pool.submit(self._job) for _ in range(self.jobs)]
            try:
                for job in jobs:
                    job.result()
            except BaseException:
                self._stop.set()
                self.client.close()  # whoever waits for a turn gets Closed
                raise

    def sitting(self) -> list[Credentials]:
        """The seats that were in play when it was stopped."""
        return list(self._sitting.values())

    def _job(self) -> None:
        while (number := self._next()) is not None:
            while True:
                place = self.seeker.find(self._stop.is_set)
                if place is None:
                    return
                try:
                    played = self._play(*place, self.random(number))
                except (SeatTaken, WrongPhase):
                    continue  # somebody was faster
                break
            with self._lock:
                self.played.append(played)
                self.told(played)

    def _next(self) -> int | None:
        """The number of the next game, if there is to be one."""
        with self._lock:
            if self._stop.is_set() or (self.games is not None and self._begun >= self.games):
                return None
            self._begun += 1
            return self._begun

    def _play(self, match_id: bytes, seat: int, random: Random) -> Played:
        """One game. Raises SeatTaken or WrongPhase if the seat cannot be taken any more."""
        credentials = Credentials.new(match_id, seat, display_name=self.name, invitation=self.invitation)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{match_id.hex()[:12]}-seat{seat}.credentials.json"
        credentials.save(path)
        self._sitting[match_id, seat] = credentials
        try:
            played = self.go_on(credentials, random)
        except Closed:
            if not self._stop.is_set():
                raise
            return Played(match_id, seat, "interrupted")  # its credentials stay
        except (SeatTaken, WrongPhase):
            self._rise(credentials, path)
            raise
        if not (played.crash and self.leave):
            self._rise(credentials, path)
        return played

    def _rise(self, credentials: Credentials, path: Path) -> None:
        self._sitting.pop((credentials.match_id, credentials.seat), None)
        path.unlink(missing_ok=True)

    def go_on(self, credentials: Credentials, random: Random) -> Played:
        """Play the seat of these credentials to its end, whether it sits already or not."""
        match_id, seat = credentials.match_id, credentials.seat
        played = Played(match_id, seat)
        try:
            policy = self.mind.make()
        except Exception as error:  # the class of the policy could not be made
            return self._crashed(played, credentials, told(error), error)
        try:
            played.outcome = run_bot(
                self.client, match_id, seat, Measured(policy, played), random=random, credentials=credentials
            )
        except PolicyCrashed as error:
            return self._crashed(played, credentials, str(error), error.__cause__ or error)
        except (IllegalCommand, Malformed, StaleDecision) as error:
            return self._crashed(played, credentials, f"its command was refused: {error.message}", error)
        except WrongPhase:
            if not credentials.token:
                raise  # it never sat
            played.how = "aborted"
            return played
        except ValueError as error:  # a message, but no command of this game
            return self._crashed(played, credentials, str(error), error)
        if played.rank is None:
            played.how = "aborted"
        return played

    def _crashed(self, played: Played, credentials: Credentials, what: str, error: BaseException) -> Played:
        played.how, played.crash = "crashed", what
        self.trace("".join(traceback.format_exception(error)))
        if not credentials.token:
            played.measure = "no seat was taken"
        elif self.leave:
            played.measure = f"the seat is left; go on with --credentials {credentials.path}"
        else:
            played.measure = give_up(self.client, credentials)
        return played


def give_up(client: Client, credentials: Credentials) -> str:
    """Leave a seat so that nobody waits for it: resign, or before the start get up; what was done, in words."""
    try:
        with client.matches.resume(credentials) as table:
            table.refresh()
            if table.match.closed:
                table.resign()
                return "the seat has resigned"
            table.leave()
            return "the seat is free again"
    except WrongPhase:
        return "the match was over"
    except ServiceError as error:
        return f"resigning was refused: {error.message}"
    except ClientError as error:
        return f"resigning failed: {error}"
