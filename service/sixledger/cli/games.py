"""`sixledger games`: what can be played, and by which rules."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import App, Parameter
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text
from sixledger.cli.options import find_game, spell_all
from sixledger.cli.terminal import out, write_json
from sixledger.engine.game import Game
from sixledger.engine.registry import installed

app = App(
    name="games",
    help="List the games; show rules and options of one.",
    help_epilogue=(
        "Examples:\n\n    sixledger games\n    sixledger games show nimmt\n    sixledger games show nimmt --json"
    ),
)

Json = Annotated[bool, Parameter("--json", negative="", help="Print JSON for a program.")]


@app.default
def list_games(*, as_json: Json = False) -> None:
    """List the games with the number of players and the presets."""
    games = installed().offered()
    if as_json:
        write_json([_summary(game) for game in games])
        return
    console = out()
    table = Table(box=None, pad_edge=False, header_style="heading")
    for name in ("game", "title", "players", "rules", "presets"):
        table.add_column(name)
    for game in games:
        least, most = game.min_seats, game.max_seats
        players = f"{least}–{most}" if least < most else str(most)
        table.add_row(game.id, game.title, players, f"{game.id}@{game.version}", ", ".join(game.presets))
    console.print(table)
    console.print("\nRules and options: [command]sixledger games show NAME[/]", style="faint")


@app.command
def show(name: Annotated[str, Parameter(help="Game, for example nimmt.")], /, *, as_json: Json = False) -> None:
    """Show the rules, options and presets of one game."""
    game = find_game(name)
    if as_json:
        options = [
            {"name": d.name, "description": d.description, "values": d.values, "default": d.default}
            | {"applies_to": d.applies_to}
            for d in game.option_docs
        ]
        write_json(_summary(game) | {"options": options, "rules_markdown": game.rules_markdown()})
        return
    console = out()
    console.print(Markdown(game.rules_markdown()))
    console.print()
    console.print(_options(game))
    console.print()
    console.print(_presets(game))
    console.print(Text(f"\nsixledger play {game.id}", style="command"))


def _summary(game: Game[Any]) -> dict[str, Any]:
    return {
        "game": game.id,
        "version": game.version,
        "title": game.title,
        "min_players": game.min_seats,
        "max_players": game.max_seats,
        "presets": {
            name: {"description": preset.description, "options": spell_all(preset.options)}
            for name, preset in game.presets.items()
        },
    }


def _options(game: Game[Any]) -> Table:
    table = Table(title="Options (--option name=value)", title_justify="left", title_style="heading", box=None)
    for name in ("option", "values", "default", "meaning"):
        table.add_column(name, header_style="heading", no_wrap=name == "option")
    for doc in game.option_docs:
        meaning = doc.description + (f" (only {doc.applies_to})" if doc.applies_to else "")
        table.add_row(doc.name, doc.values, doc.default, meaning)
    return table


def _presets(game: Game[Any]) -> Table:
    table = Table(title="Presets (--preset name)", title_justify="left", title_style="heading", box=None)
    table.add_column("preset", header_style="heading", no_wrap=True)
    table.add_column("meaning", header_style="heading")
    for name, preset in game.presets.items():
        table.add_row(name, preset.description)
    return table
