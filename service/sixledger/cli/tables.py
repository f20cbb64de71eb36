"""`sixledger tables`: the open tables of a server."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from cyclopts import Parameter, validators
from rich.table import Table
from rich.text import Text
from sixledger.cli.remote import DEFAULT_SERVER, ServerAddress, Tls, connected
from sixledger.cli.terminal import out, write_json


def tables(
    *,
    server: ServerAddress = DEFAULT_SERVER,
    tls: Tls = None,
    game: Annotated[str, Parameter(help="Only tables of this game.")] = "",
    full: Annotated[bool, Parameter(negative="", help="Also tables without a free seat that have not begun.")] = False,
    mine: Annotated[
        bool, Parameter(negative="", help="Only tables opened with the key in SIXLEDGER_API_KEY, private ones too.")
    ] = False,
    limit: Annotated[int, Parameter(validator=validators.Number(gte=1, lte=1000), help="At most so many.")] = 20,
    as_json: Annotated[bool, Parameter("--json", negative="", help="Print JSON for a program.")] = False,
) -> None:
    """List the open tables of a server, newest first: those that can be joined."""
    with connected(server, tls) as client:
        found = client.lobby.tables(game=game, free_seats=not full, mine=mine, limit=limit)
    if as_json:
        write_json(
            [
                {
                    "match": each.match_id.hex(),
                    "game": each.game,
                    "seats": each.seats,
                    "joined": each.joined,
                    "created_us": each.created_us,
                    "private": each.private,
                    "spectators": not each.no_spectators,
                    "deal": each.fairness,
                }
                for each in found
            ]
        )
        return
    console = out()
    if not found:
        console.print(f"No open table on {server}. Open one: sixledger play nimmt --server {server}", soft_wrap=True)
        return
    shown = Table(box=None, pad_edge=False, header_style="heading")
    for name in ("table", "game", "seats", "opened", "deal", ""):
        shown.add_column(name, no_wrap=True)
    for each in found:
        marks = ["private"] * each.private + ["no spectators"] * each.no_spectators
        shown.add_row(
            each.match_id.hex()[:12],
            each.game,
            f"{each.joined} of {each.seats}",
            f"{datetime.fromtimestamp(each.created_us // 1_000_000, UTC):%Y-%m-%d %H:%M} UTC",
            each.fairness,
            Text(", ".join(marks), "faint"),
        )
    console.print(shown)
    console.print(
        Text(f"sixledger play {found[0].game} --server {server} --table {found[0].match_id.hex()[:12]}", "command"),
        soft_wrap=True,
    )
