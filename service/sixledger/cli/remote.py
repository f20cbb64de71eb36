"""Talking to a server: connecting, naming matches, and saying in one line what went wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import grpc
from cyclopts import Parameter
from sixledger.cli.failures import Failure, unusable
from sixledger.cli.keys import trust_store
from sixledger.client import (
    Client,
    ClientError,
    Credentials,
    ServerCheated,
    ServiceError,
    Settings,
    TransportError,
    time_limits,
)
from sixledger.client.errors import BadApiKey, BadCredentials, OriginChanged
from sixledger.client.trust import TrustStore
from sixledger.service.config import Settings as ServerSettings
from sixledger.v1 import record_pb2

#: Where a server is looked for unless told otherwise: where `sixledger serve` listens by default.
DEFAULT_SERVER = ServerSettings().listen

ServerAddress = Annotated[str, Parameter(help="HOST:PORT of the server.")]
Tls = Annotated[
    str | None, Parameter(help="Encrypt: `system` trusts the system's authorities, else a PEM file of them.")
]
CredentialsFile = Annotated[Path | None, Parameter(help="Credentials of a seat: see what that seat sees.")]
MatchId = Annotated[str, Parameter(help="Match id, or enough of its beginning.")]

#: Seconds to wait for a server that does not answer at first contact, and later on.
_FIRST_PATIENCE, _PATIENCE = 2.0, 60.0


#: Seconds that seats have to commit to what they give to the deal, and then to reveal it, at tables opened here.
DEAL_LIMIT_S = 3600.0


def with_deal_limits(clock: record_pb2.Clock | None = None) -> record_pb2.Clock:
    """The time limits with some for contributions: a seat that never gives what it owes would keep the others for ever.

    Programs do it by themselves, at once; whoever is so late is gone.
    """
    limits = time_limits(contribute=DEAL_LIMIT_S, reveal=DEAL_LIMIT_S)
    if clock is not None:
        limits.MergeFrom(clock)
    return limits


@contextmanager
def connected(server: str, tls: str | None = None, *, trust: TrustStore | None = None) -> Iterator[Client]:
    """A client of the server, whose key is pinned at first contact. Every error in the block becomes a Failure.

    An API key in SIXLEDGER_API_KEY goes with every call.
    """
    channel = channel_credentials(tls)
    trust = trust if trust is not None else trust_store(writing=True)
    try:
        with Client(server, tls=channel, trust=trust, settings=Settings(patience=_FIRST_PATIENCE)) as first:
            first.catalog.origin()
        settings, key = Settings(patience=_PATIENCE), os.environ.get("SIXLEDGER_API_KEY", "")
        with Client(server, tls=channel, trust=trust, settings=settings, api_key=key) as client:
            yield client
    except ClientError as error:
        raise failure(error, server) from error


def failure(error: ClientError, server: str) -> Failure:
    """What a client's error means to a person."""
    if isinstance(error, TransportError):
        return Failure(f"no answer from {server} ({error.code}); is it the right address? `sixledger serve` starts one")
    if isinstance(error, BadApiKey):
        return Failure(f"the server at {server} refused: {error.message}; put a valid one into SIXLEDGER_API_KEY")
    if isinstance(error, ServiceError):
        wrong = "".join(f"; {each.field}: {each.description}" for each in error.violations)
        return Failure(f"the server at {server} refused: {error.message}{wrong}. {error.remedy}")
    if isinstance(error, OriginChanged):
        # Also what a server in memory looks like after a restart: it has fresh keys.
        return Failure(f"{error.message} with `sixledger keys forget NAME`; `sixledger keys` lists the names")
    if isinstance(error, ServerCheated):
        return Failure(f"the server at {server} must not be believed ({error.layer}): {error}")
    return Failure(str(error))


def load_credentials(path: Path | None) -> Credentials | None:
    """The credentials in a file. Raises Failure."""
    if path is None:
        return None
    try:
        return Credentials.load(path)
    except BadCredentials as error:
        raise unusable(str(error)) from None


def find_match(client: Client, text: str) -> bytes:
    """The match that `text` names: its id in hexadecimal, or the beginning of it. Raises Failure."""
    given = text.strip().rstrip("…").lower()
    if not re.fullmatch("[0-9a-f]{4,32}", given):
        raise unusable(f"{text!r} is no match id: it has 32 hexadecimal digits; 4 may be enough")
    if len(given) == 32:
        return bytes.fromhex(given)
    found = [each.match_id for each in client.matches.list(limit=1000) if each.match_id.hex().startswith(given)]
    if len(found) != 1:
        problem = "no match begins" if not found else f"{len(found)} matches begin"
        raise Failure(f"{problem} with {given} among the newest of this server; give the whole id")
    return found[0]


def names_of(client: Client, match_id: bytes) -> list[str]:
    """The names at a table, by seat; a seat without a name is called by its number."""
    seats = client.matches.get(match_id).match.seats
    return [each.display_name or f"Seat {number}" for number, each in enumerate(seats)]


def channel_credentials(tls: str | None) -> grpc.ChannelCredentials | None:
    """How to encrypt, as an option `--tls` says; None: not at all. Raises Failure."""
    if tls is None:
        return None
    try:
        return grpc.ssl_channel_credentials(None if tls == "system" else Path(tls).read_bytes())
    except OSError as error:
        raise unusable(f"{tls}: {error.strerror}") from None
