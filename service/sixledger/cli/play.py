"""`sixledger play`: a person against bots."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter, validators
from rich.console import Console
from rich.text import Text
from sixledger.cli.failures import INVALID, OK, unusable
from sixledger.cli.options import OptionList, PresetName, build, find_game
from sixledger.cli.paths import OUT_FOLDER
from sixledger.cli.render.report import headline
from sixledger.cli.seating import Bot, Seed, bot_names, check_players, policy, usual_players
from sixledger.cli.table_talk import Talk
from sixledger.cli.terminal import out
from sixledger.ledger import clocks
from sixledger.v1 import record_pb2, replay_service_pb2

_POSITIVE = validators.Number(gte=0)
Seconds = Annotated[
    float, Parameter(validator=_POSITIVE, help="With --server: seconds for each decision of a seat; 0: no limit.")
]
OnTimeout = Literal["first-legal", "forfeit", "none"]
_POLICIES = {"first-legal": clocks.FIRST_LEGAL, "forfeit": clocks.FORFEIT, "none": clocks.NONE}


def play(
    game: Annotated[str, Parameter(help="Game, for example nimmt.")],
    /,
    *,
    bots: Annotated[
        int | None,
        Parameter(
            validator=validators.Number(gte=1, lte=63),
            help="Number of bots. Default: 3, or as many as the game allows.",
        ),
    ] = None,
    bot: Bot = None,
    server: Annotated[
        str | None, Parameter(help="Play on a server, HOST:PORT. Default: here, without a server.")
    ] = None,
    tls: Annotated[
        str | None, Parameter(help="Encrypt: `system` trusts the system's authorities, else a PEM file of them.")
    ] = None,
    table: Annotated[
        str | None, Parameter(help="With --server: join this table of others; its id, or enough of its beginning.")
    ] = None,
    join: Annotated[bool, Parameter(negative="", help="With --server: join the newest open table.")] = False,
    invitation: Annotated[str, Parameter(help="What lets you join a private table.")] = "",
    turn_seconds: Seconds = 0,
    bank: Annotated[
        float,
        Parameter(
            validator=_POSITIVE, help="With --server: seconds that each seat has for the whole game; 0: no limit."
        ),
    ] = 0,
    increment: Annotated[
        float, Parameter(validator=_POSITIVE, help="With --bank: seconds that a seat gains with each command.")
    ] = 0,
    on_timeout: Annotated[
        OnTimeout,
        Parameter(
            help="What happens to a seat that runs out of time: its first legal command is played, "
            "it loses, or nothing."
        ),
    ] = "first-legal",
    name: Annotated[str, Parameter(help="Your name at the table.")] = "You",
    seed: Seed = None,
    preset: PresetName = None,
    option: OptionList = None,
    folder: Annotated[Path, Parameter("--out", help="Where the ledger is saved.")] = OUT_FOLDER,
) -> int:
    """Play a game against bots, here or on a server; or against others at a table of a server.

    At the table `?` shows what can be typed, `q` leaves. The ledger of the match is saved and verified at the
    end.
    """
    rules = find_game(game)
    if table is not None or join:
        if server is None:
            raise unusable("--table and --join need --server")
        if turn_seconds or bank or increment:
            raise unusable("whoever opens the table sets its clocks: leave --turn-seconds, --bank and --increment out")
        from sixledger.cli.server_table import join_on_server

        console = out()
        path, report = join_on_server(
            server, tls, rules, table, name, invitation=invitation, folder=folder, console=console
        )
        return tell_saved(console, path, report)
    clock = _clock(turn_seconds, bank, increment)
    if clock is not None and server is None:
        raise unusable("--turn-seconds and --bank need --server: here nobody is in a hurry")
    bots = usual_players(rules) - 1 if bots is None else bots
    check_players(rules, bots + 1)
    setup = build(rules, bots + 1, preset, option)
    mind = policy(rules.id, bot)
    names = [name, *bot_names(bots)]
    console = out()
    if server is not None:
        from sixledger.cli.server_table import play_on_server

        path, report = play_on_server(
            server,
            tls,
            rules,
            setup,
            names,
            mind,
            seed=seed,
            clock=clock,
            on_timeout=_POLICIES[on_timeout] if clock is not None else clocks.NO_POLICY,
            folder=folder,
            console=console,
        )
    else:
        from sixledger.cli.local_table import LocalTable
        from sixledger.cli.saving import save_local

        local = LocalTable(rules, setup, names, dict.fromkeys(range(1, bots + 1), mind), seed=seed)
        Talk(local, console).play()
        path, report = save_local(local.records, local.match_id, local.time_us, folder)
    return tell_saved(console, path, report)


def _clock(turn_seconds: float, bank: float, increment: float) -> record_pb2.Clock | None:
    """The time limits of these options; None: none."""
    if increment and not bank:
        raise unusable("--increment needs --bank: it is added to it")
    if not (turn_seconds or bank):
        return None
    from sixledger.client import time_limits

    try:
        return time_limits(turn=turn_seconds, bank=bank, increment=increment)
    except ValueError as error:
        raise unusable(str(error)) from error


def tell_saved(console: Console, path: Path, report: replay_service_pb2.VerifyReport) -> int:
    """Say where the ledger is and what the verifier found; the exit status."""
    console.print()
    console.print(Text.assemble("The ledger of this match: ", headline(report, str(path))), soft_wrap=True)
    if report.fairness:
        console.print(Text(f"Deal: {report.fairness}.", "faint"), soft_wrap=True)
    console.print(Text(f"sixledger verify {path}", "command"), soft_wrap=True)
    return OK if report.verdict == replay_service_pb2.VERDICT_VALID else INVALID
