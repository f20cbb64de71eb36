"""`sixledger replay`: a match record by record."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from sixledger.cli.failures import unusable
from sixledger.cli.keys import read_trusts
from sixledger.cli.remote import (
    DEFAULT_SERVER,
    CredentialsFile,
    ServerAddress,
    Tls,
    connected,
    find_match,
    load_credentials,
)
from sixledger.cli.replay.sources import Replay, open_file, open_live
from sixledger.cli.terminal import out


def replay(
    what: Annotated[str, Parameter(help="A ledger file, or a match id (enough of its beginning) on a server.")],
    /,
    *,
    server: ServerAddress = DEFAULT_SERVER,
    tls: Tls = None,
    credentials: CredentialsFile = None,
    seat: Annotated[int | None, Parameter(help="See what this seat saw. Default: the ledger's own viewer.")] = None,
    everything: Annotated[
        bool, Parameter("--all", negative="", help="See all hands, if the ledger has them open.")
    ] = False,
    key: Annotated[
        list[str] | None,
        Parameter(negative="", help="Verifier key of the server, or a file that holds it. Default: trusted keys."),
    ] = None,
    plain: Annotated[
        bool, Parameter(negative="", help="Print the course instead. Also done where there is no terminal.")
    ] = False,
) -> int:
    """Replay a match record by record: a ledger file, or a match on a server as it grows.

    A file is verified first; of one that is not what was played the records before the first wrong one are
    shown, and the exit status is 1. `?` shows the keys.
    """
    path = Path(what)
    if path.exists():
        if credentials is not None:
            raise unusable("--credentials are for a match on a server, not for a file")
        opened = open_file(path, read_trusts(key) if key else None)
        opened.choose(seat, everything=everything)
        return _show(opened, plain=plain)
    if not re.fullmatch("[0-9a-fA-F]{4,32}…?", what):
        raise unusable(f"{what}: there is no such file, and it is no match id either")
    own = load_credentials(credentials)
    with connected(server, tls) as client:
        match_id = find_match(client, what)
        if own is not None and own.match_id != match_id:
            raise unusable(f"{credentials} is of match {own.match_id.hex()}")
        opened = open_live(client, match_id, own)
        live = opened.live
        try:
            opened.choose(seat, everything=everything)
            return _show(opened, plain=plain)
        finally:
            if live is not None:
                live.close()


def _show(opened: Replay, *, plain: bool) -> int:
    if plain or not (sys.stdin.isatty() and sys.stdout.isatty()):
        from sixledger.cli.replay.plain import print_course

        return print_course(out(), opened)
    from sixledger.cli.replay.app import ReplayApp

    status = ReplayApp(opened).run()
    return opened.judgement.status if status is None else status
