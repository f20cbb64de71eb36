"""`sixledger rulesets`: which matches this build can replay and verify."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter
from rich.table import Table
from rich.text import Text
from sixledger.cli.terminal import out, write_json
from sixledger.engine.game import Game
from sixledger.engine.registry import installed

#: The option that chooses among whole sets of rules, where a game has one.
_VARIANT = "variant"


def rulesets(
    *, as_json: Annotated[bool, Parameter("--json", negative="", help="Print JSON for a program.")] = False
) -> None:
    """List the rulesets that this build replays: digest, since when each is frozen, variants.

    Record 0 of a ledger names one, with its digest. A frozen ruleset never changes: its ledgers can be verified by
    every later build.
    """
    games = installed().all()
    if as_json:
        write_json([_document(game) for game in games])
        return
    console = out()
    for game in games:
        console.print(Text.assemble((f"{game.id}@{game.version}", "heading"), f"  {game.title}"))
        facts = Table.grid(padding=(0, 2))
        facts.add_column(style="faint", no_wrap=True)
        facts.add_column(overflow="fold")
        facts.add_row("  digest", Text(game.digest.hex()))
        facts.add_row("  frozen", _frozen(game))
        facts.add_row("  new matches", "yes" if _is_newest(game) else f"no, they get {game.id}@{_newest(game).version}")
        if variants := _variants(game):
            facts.add_row("  variants", ", ".join(variants))
        facts.add_row("  options", ", ".join(_options(game)))
        console.print(facts)
        console.print()
    console.print("A ledger of any other ruleset or digest is UNKNOWN_RULESET.", style="faint")


def _document(game: Game[Any]) -> dict[str, Any]:
    return {
        "ruleset": f"{game.id}@{game.version}",
        "game": game.id,
        "version": game.version,
        "title": game.title,
        "digest": game.digest.hex(),
        "frozen_since": game.released or None,
        "new_matches": _is_newest(game),
        "variants": _variants(game),
        "options": _options(game),
    }


def _frozen(game: Game[Any]) -> Text:
    if game.released:
        return Text(f"since release {game.released}", "good")
    return Text("not yet: it may change, and then its ledgers can no longer be verified", "unsure")


def _newest(game: Game[Any]) -> Game[Any]:
    return installed().latest(game.id)


def _is_newest(game: Game[Any]) -> bool:
    return _newest(game).version == game.version


def _variants(game: Game[Any]) -> list[str]:
    """The sets of rules among which an option chooses; none for most games."""
    return [word for doc in game.option_docs if doc.name == _VARIANT for word in doc.values.split(", ")]


def _options(game: Game[Any]) -> list[str]:
    return [doc.name for doc in game.option_docs if doc.name != _VARIANT]
