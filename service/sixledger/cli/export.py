"""`sixledger export`: the ledger of a match, from a server into a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.text import Text
from sixledger.cli.failures import INVALID, OK, unusable
from sixledger.cli.remote import (
    DEFAULT_SERVER,
    CredentialsFile,
    MatchId,
    ServerAddress,
    Tls,
    connected,
    find_match,
    load_credentials,
)
from sixledger.cli.render.report import headline
from sixledger.cli.terminal import out
from sixledger.ledger.verify import exit_status, verify


def export(
    match: MatchId,
    /,
    *,
    output: Annotated[
        Path | None,
        Parameter(("-o", "--output"), help="File to write, gzipped if it ends in .gz. Default: named like the match."),
    ] = None,
    server: ServerAddress = DEFAULT_SERVER,
    tls: Tls = None,
    credentials: CredentialsFile = None,
) -> int:
    """Save the ledger of a match from a server, and verify it.

    While a match runs its ledger is INCOMPLETE: others' hands are sealed. Afterwards everything is open.
    """
    seat = load_credentials(credentials)
    with connected(server, tls) as client:
        match_id = find_match(client, match)
        if seat is not None and seat.match_id != match_id:
            raise unusable(f"{credentials} is of match {seat.match_id.hex()}")
        path = output or Path(f"{match_id.hex()[:12]}.ledger.jsonl")
        if not path.parent.is_dir():
            raise unusable(f"there is no folder {path.parent}")
        client.matches.export(match_id, path, seat.token if seat is not None else "")
        report = verify(path, trusted=[client.catalog.origin()])
    out().print(Text.assemble("Saved: ", headline(report, str(path))), soft_wrap=True)
    if report.fairness:
        out().print(Text(f"Deal: {report.fairness}.", "faint"), soft_wrap=True)
    return OK if exit_status(report, partial=True) == 0 else INVALID
