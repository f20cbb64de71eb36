"""`sixledger bot`: a policy plays on a server."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Annotated, Literal

from cyclopts import Parameter, validators
from rich.console import Console
from rich.text import Text
from sixledger.cli.bots import tally
from sixledger.cli.bots.policies import Mind, load
from sixledger.cli.bots.runner import Runner, give_up
from sixledger.cli.bots.tables import Seeker
from sixledger.cli.bots.tally import Played
from sixledger.cli.failures import INVALID, OK, Failure, unusable
from sixledger.cli.options import OptionList, PresetName, build, find_game
from sixledger.cli.paths import OUT_FOLDER
from sixledger.cli.remote import (
    DEFAULT_SERVER,
    ServerAddress,
    Tls,
    connected,
    find_match,
    load_credentials,
)
from sixledger.cli.seating import Seed, check_players, secret
from sixledger.cli.terminal import complain, out, write_json
from sixledger.client import Client, ClientError
from sixledger.v1 import match_service_pb2

_RUNNING = match_service_pb2.MATCH_STATUS_RUNNING
_AT_LEAST_ONE = validators.Number(gte=1)


def bot(
    *,
    game: Annotated[str, Parameter(help="Game, for example nimmt.")] = "nimmt",
    policy: Annotated[
        str | None,
        Parameter(help="heuristic, random, or module:function of your own. Default: the best built-in one."),
    ] = None,
    server: ServerAddress = DEFAULT_SERVER,
    tls: Tls = None,
    matches: Annotated[
        int | None,
        Parameter(validator=validators.Number(gte=0), help="Games to play, 0: on and on. Default: one a job."),
    ] = None,
    jobs: Annotated[int, Parameter(validator=_AT_LEAST_ONE, help="Games at once, a thread each.")] = 1,
    match: Annotated[str | None, Parameter(help="Sit at this table: its id, or enough of its beginning.")] = None,
    seat: Annotated[int | None, Parameter(help="Take this seat; with --match. Default: the first free one.")] = None,
    invitation: Annotated[str, Parameter(help="Invitation to a private table; with --match.")] = "",
    seats: Annotated[
        int | None, Parameter(help="Sit at tables of so many seats, and open such. Default: any, and the fewest.")
    ] = None,
    create: Annotated[bool, Parameter(help="Open a table where none is open, or only join and wait.")] = True,
    credentials: Annotated[
        Path | None, Parameter(help="Go on with the seat of these credentials, which a bot has left.")
    ] = None,
    name: Annotated[str, Parameter(help="Name at the table.")] = "Bot",
    on_crash: Annotated[
        Literal["resign", "leave"],
        Parameter(help="What becomes of the seat when the policy crashes: it resigns, or is left (see --credentials)."),
    ] = "resign",
    traceback: Annotated[bool, Parameter(negative="", help="Show the whole traceback of a crash.")] = False,
    seed: Seed = None,
    preset: PresetName = None,
    option: OptionList = None,
    folder: Annotated[
        Path, Parameter("--out", help="Where credentials are kept while a seat is in play.")
    ] = OUT_FOLDER,
    as_json: Annotated[bool, Parameter("--json", negative="", help="Print the statistics as JSON.")] = False,
) -> int:
    """Play seats on a server with a policy, and count what came of it.

    Sits down at open tables, or opens tables and waits there until all seats are taken. A table that waits is
    aborted, and a running seat resigns, when Ctrl-C stops the bot; the statistics come then too. The exit status is
    1 if the policy crashed.
    """
    rules = find_game(game)
    mind = load(rules.id, policy)
    if seats is not None:
        check_players(rules, seats)
    if (seat is not None or invitation) and match is None:
        raise unusable(f"{'--seat' if seat is not None else '--invitation'} needs --match: which table?")
    setup = build(rules, seats or rules.min_seats, preset, option) if create and match is None else None
    own = load_credentials(credentials)
    if own is not None and match is not None:
        raise unusable("give --match or --credentials, not both: credentials name their match")
    console = out()
    games = jobs if matches is None else matches or None

    def random(number: int) -> Random:
        return Random(secret(seed, f"bot/{number}"))  # noqa: S311  # play, not secrets

    with connected(server, tls) as client:
        table = find_match(client, match) if match is not None else None
        runner = Runner(
            client,
            Seeker(client, rules.id, seats, setup, table, seat),
            mind,
            games=games,
            jobs=jobs,
            name=name,
            random=random,
            folder=folder,
            leave=on_crash == "leave",
            invitation=invitation,
            told=_teller(console, quiet=as_json),
            trace=_trace if traceback else lambda _: None,
        )
        if own is not None:
            runner.played.append(runner.go_on(own, random(1)))
            runner.told(runner.played[-1])
        else:
            try:
                _run(runner, server, tls)
            except ClientError:
                if runner.played:
                    _sum_up(console, runner.played, mind, as_json=as_json)
                raise
    if table is not None and not runner.played:
        raise Failure(f"the match {table.hex()[:12]}… has no free seat" + (f" {seat}" if seat is not None else ""))
    _sum_up(console, runner.played, mind, as_json=as_json)
    return INVALID if any(each.crash for each in runner.played) else OK


def _teller(console: Console, *, quiet: bool) -> Callable[[Played], None]:
    def tell(played: Played) -> None:
        if played.crash:
            complain(f"the policy crashed in match {played.match_id.hex()[:12]}…: {played.crash}; {played.measure}")
        if not quiet:
            console.print(played.line(), soft_wrap=True)
            console.file.flush()

    return tell


def _trace(text: str) -> None:
    sys.stderr.write(text)


def _run(runner: Runner, server: str, tls: str | None) -> None:
    """Play until all games are over; stopped by Ctrl-C, leave no table stuck."""
    try:
        runner.run()
    except KeyboardInterrupt:
        with connected(server, tls) as client:
            _leave(client, runner)


def _leave(client: Client, runner: Runner) -> None:
    for match_id, owner_token in runner.seeker.owned.items():
        try:
            if client.matches.get(match_id).match.status < _RUNNING:
                client.matches.abort(match_id, owner_token)
        except ClientError as error:
            complain(f"the table {match_id.hex()[:12]}… could not be aborted: {error}")
    for credentials in runner.sitting():
        done = give_up(client, credentials)
        complain(f"match {credentials.match_id.hex()[:12]}…, seat {credentials.seat}: {done}")
        if credentials.path is not None:
            credentials.path.unlink(missing_ok=True)


def _sum_up(console: Console, games: Sequence[Played], mind: Mind, *, as_json: bool) -> None:
    if as_json:
        write_json(tally.document(games, mind.name))
        return
    console.print(Text())
    console.print(tally.summary(games, mind.name))
