"""`sixledger watch`: a match on a server, as it happens."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

from cyclopts import Parameter
from google.protobuf import json_format
from rich.console import Console
from rich.text import Text
from sixledger.cli.failures import unusable
from sixledger.cli.remote import (
    DEFAULT_SERVER,
    CredentialsFile,
    MatchId,
    ServerAddress,
    Tls,
    connected,
    find_match,
    load_credentials,
    names_of,
)
from sixledger.cli.render import drawing, placed
from sixledger.cli.render.lifecycle import deal, life, timed_out
from sixledger.cli.terminal import out
from sixledger.client import Recorded, WatchedMatch
from sixledger.engine.visibility import classes


def watch(
    match: MatchId,
    /,
    *,
    server: ServerAddress = DEFAULT_SERVER,
    tls: Tls = None,
    credentials: CredentialsFile = None,
    as_json: Annotated[bool, Parameter("--json", negative="", help="Print a JSON line for each record.")] = False,
) -> None:
    """Follow a match on a server as it happens, from its first record to its end.

    Every record is checked as it arrives. Without credentials you see what every spectator sees.
    """
    seat = load_credentials(credentials)
    with connected(server, tls) as client:
        match_id = find_match(client, match)
        if seat is not None and seat.match_id != match_id:
            raise unusable(f"{credentials} is of match {seat.match_id.hex()}")
        table = client.matches.resume(seat) if seat is not None else client.matches.watch_match(match_id)
        names = names_of(client, match_id)
        viewer = seat.seat if seat is not None else None
        with table:
            for item in table.watch():
                if not isinstance(item, Recorded):
                    continue
                if any(step.HasField("joined") for step in item.body.lifecycle):
                    names = names_of(client, match_id)  # somebody sat down since
                if as_json:
                    _print_json(item)
                else:
                    _tell(out(), table, item, names, viewer)


def _tell(console: Console, table: WatchedMatch, item: Recorded, names: list[str], viewer: int | None) -> None:
    """What a record says; on a terminal the table too, whenever something on it has moved."""
    game = drawing(table.match.game.id)
    for step in item.body.lifecycle:
        console.print(Text(life(step, names), "faint"))
        if step.HasField("opened") or step.HasField("sealed"):
            console.print(Text(deal(step, table.match), "faint"), soft_wrap=True)
    for said in timed_out(item.body, names):
        console.print(Text(said, "faint"))
    lines = game.tell(item.events, names, viewer)
    for line in lines:
        console.print(line)
    newest = item.seq == len(table.records) - 1
    if lines and console.is_terminal and newest and table.match.state is not None:
        fresh = placed(item.events)
        console.print()
        console.print(game.table(table.view(), names, fresh))
        console.print()
    if table.over and newest and table.match.state is not None:
        console.print(game.ranking(table.view(), names))


def _print_json(item: Recorded) -> None:
    cause = item.body.cause
    content = {
        "seq": item.seq,
        "time_us": item.body.time_us,
        "seat": cause.seat if cause.kind == 1 else None,
        "lifecycle": [
            json_format.MessageToDict(step, preserving_proto_field_name=True) for step in item.body.lifecycle
        ],
        "events": [{event.DESCRIPTOR.name: _plain(event)} for event in item.events],
        "hash": item.record.hash.hex(),
    }
    sys.stdout.write(json.dumps(content, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def _plain(message: Any) -> dict[str, Any]:
    """A message with all its fields, but for the secret ones that this viewer does not know."""
    content: dict[str, Any] = json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    kind: Any = type(message)
    known = {field.name for field, _ in message.ListFields()}
    return {name: value for name, value in content.items() if name in known or name not in classes(kind).secret}
