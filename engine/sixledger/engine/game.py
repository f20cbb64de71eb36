"""The contract between a game and everything that runs it (DESIGN 4)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from google.protobuf.message import Message
from sixledger.engine.chance import Chance, Stream
from sixledger.engine.schema import Schema

S = TypeVar("S")

#: Why a match ends outside the rules (RULES 0.8): values of `Game.leave`.
RESIGNED, FORFEIT, ABORTED = "resigned", "forfeit", "aborted"


@dataclass(frozen=True, slots=True)
class Setup:
    """What a match is started with: the number of seats and the complete options message."""

    seats: int
    options: Any


class Decision(NamedTuple):
    """An open set of choices. `number` counts the openings, `seats` (ascending) may act now."""

    number: int
    seats: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a match (RULES 0.7); `winners` and `ranking` are empty if it was aborted."""

    scores: tuple[int, ...]
    winners: tuple[int, ...]
    ranking: tuple[int, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class OptionDoc:
    """One option, described for people."""

    name: str
    description: str
    values: str
    default: str
    applies_to: str = ""


@dataclass(frozen=True, slots=True)
class Preset:
    """A named set of options: what it reproduces and the options message."""

    description: str
    options: Any


class Game(ABC, Generic[S]):
    """The rules of one game in one version. Stateless: one object serves every match.

    A state is changed by `evolve` alone. `start`, `play` and `leave` are generators of concrete event
    messages; whoever runs them applies `evolve` to each event before asking for the next, so later
    events see the effects of earlier ones. They check everything before their first `yield`. Events may be
    shared between matches, like legal commands: do not change them.
    """

    id: ClassVar[str]
    version: ClassVar[int]
    #: Constant of a released version (DESIGN 4), 32 bytes.
    digest: ClassVar[bytes]
    #: The release that froze this version: from then on not one byte of a replay changes. Empty: it may still change.
    released: ClassVar[str] = ""
    title: ClassVar[str]
    min_seats: ClassVar[int]
    max_seats: ClassVar[int]
    schema: ClassVar[Schema]
    option_docs: ClassVar[Sequence[OptionDoc]]
    presets: ClassVar[Mapping[str, Preset]]
    #: Commands that the table gives, not a seat (6piece: time is up). Every field of them is public. They answer
    #: no decision and open none.
    table_commands: ClassVar[frozenset[type[Message]]] = frozenset()

    # -- setting up ------------------------------------------------------------------------------

    @abstractmethod
    def complete(self, seats: int, options: Any) -> Setup:
        """A setup with every applicable option filled in. Raises IllegalOptions."""

    @abstractmethod
    def epochs(self, setup: Setup) -> int:
        """How many epochs the match can have, 1 to 1000 (RULES 0.3)."""

    @abstractmethod
    def rules_markdown(self) -> str:
        """The rules for players."""

    # -- the course of a match -------------------------------------------------------------------

    @abstractmethod
    def blank(self) -> S:
        """The state before the first event."""

    @abstractmethod
    def start(self, state: S, setup: Setup, chance: Chance) -> Iterator[Message]:
        """The events that begin a match, from a blank state."""

    @abstractmethod
    def play(self, state: S, seat: int | None, command: Any, chance: Chance) -> Iterator[Message]:
        """The events of a command. Raises MalformedCommand or IllegalCommand before the first event.

        `seat` is None if the table gives the command; it can give only `table_commands`.
        """

    @abstractmethod
    def leave(self, state: S, reason: str, seat: int | None) -> Iterator[Message]:
        """The events that end a match by `reason` (RESIGNED, FORFEIT: of `seat`; ABORTED)."""

    @abstractmethod
    def evolve(self, state: S, event: Message) -> None:
        """Apply a concrete event, whole or redacted."""

    # -- reading a state -------------------------------------------------------------------------

    @abstractmethod
    def legal(self, state: S, seat: int) -> list[Message]:
        """The legal commands of `seat`, in the order of RULES. The messages are shared: do not change them."""

    def table_legal(self, state: S) -> list[Message]:
        """The commands that the table may give now; games without `table_commands` have none."""
        return []

    @abstractmethod
    def decision(self, state: S) -> Decision:
        """The open decision; no seats if the match has ended."""

    @abstractmethod
    def epoch(self, state: S) -> int:
        """The epoch the match is in; 0 before the first."""

    @abstractmethod
    def view(self, state: S, seat: int | None) -> Any:
        """What `seat`, or a spectator (None), sees (RULES 0.9)."""

    @abstractmethod
    def outcome(self, state: S) -> Outcome | None:
        """The result, or None while the match runs."""

    # -- positions -------------------------------------------------------------------------------

    @abstractmethod
    def copy(self, state: S) -> S:
        """An independent copy."""

    @abstractmethod
    def position(self, state: S) -> Any:
        """The complete state as the game's `Position` message. Holds every secret."""

    @abstractmethod
    def from_position(self, position: Any) -> S:
        """The state of a complete position. Raises ValueError if it is none."""

    @abstractmethod
    def redeal(self, view: Any, stream: Stream) -> S:
        """A complete state that could lie behind `view`, the view of a seat or a spectator of a match that goes on.

        What the view hides is dealt anew from `stream`, each way that the view allows as likely as the others
        (RULES 0.9: a view has no memory, so what was shown earlier counts for nothing). The result has this very
        view and a position that `from_position` accepts. Raises ValueError if no state has such a view.
        """


def run(game: Game[S], state: S, events: Iterable[Message]) -> list[Message]:
    """Take events one by one, applying each to `state` before asking for the next."""
    happened = []
    for event in events:
        game.evolve(state, event)
        happened.append(event)
    return happened


def competition_ranking(scores: Sequence[int], *, low_is_good: bool) -> tuple[int, ...]:
    """Competition ranks (1, 1, 3 …) by seat, computed on integers."""
    signed = [score if low_is_good else -score for score in scores]
    return tuple(1 + sum(other < own for other in signed) for own in signed)
