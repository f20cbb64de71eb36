"""What can be wrong with a command or with options.

EngineError
 ├── MalformedCommand   the message is no command of this game: retrying it can never help
 ├── IllegalCommand     the rules do not allow the command now; `rule` names the rule
 ├── IllegalOptions     an option does not fit the game, the variant or the number of seats
 ├── UnknownGame        no such game or version in this build
 ├── BrokenGame         a game of another distribution cannot be used
 └── EpochSealed        a draw needs the seed of an epoch that is not known yet
"""

from __future__ import annotations


class EngineError(Exception):
    """Base of all errors of the engine. Their texts never hold a secret."""


class MalformedCommand(EngineError):
    """The message cannot be read as a command of this game.

    Raised for bytes that do not parse, unknown or missing fields, and values outside the range that
    this match has (a row 4, a card 105). `field` is the path of the field, empty for the whole message.
    """

    def __init__(self, field: str, message: str) -> None:
        """Name the offending field and say what is wrong with it."""
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field
        self.message = message


class IllegalCommand(EngineError):
    """The rules do not allow a well-formed command now.

    `rule` is the stable identifier of the broken rule (RULES 0.4), for example `not_in_hand`.
    """

    def __init__(self, rule: str, message: str) -> None:
        """Name the broken rule and say it in words."""
        super().__init__(f"{rule}: {message}")
        self.rule = rule
        self.message = message


class IllegalOptions(EngineError):
    """An option does not fit. `option` is its name, `allowed` says what would be allowed."""

    def __init__(self, option: str, message: str, allowed: str) -> None:
        """Name the option, what is wrong with it and what would be allowed."""
        super().__init__(f"{option}: {message}; allowed: {allowed}")
        self.option = option
        self.message = message
        self.allowed = allowed


class UnknownGame(EngineError):
    """This build has no such game, or not in this version."""


class BrokenGame(EngineError):
    """A registered game cannot be used: it cannot be loaded, or breaks the contract of games. Says which and why."""


class EpochSealed(EngineError):
    """A draw needs an epoch whose seed is not known here. `epoch` is its number."""

    def __init__(self, epoch: int) -> None:
        """Name the epoch."""
        super().__init__(f"the seed of epoch {epoch} is not revealed")
        self.epoch = epoch
