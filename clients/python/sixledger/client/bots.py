"""Bots over the network: they join, contribute, and play a seat to its end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from google.protobuf.message import Message
from sixledger.client.aio.client import AsyncClient
from sixledger.client.aio.tables import AsyncSeatedMatch
from sixledger.client.credentials import Credentials
from sixledger.client.errors import IllegalCommand, MatchPaused, StaleDecision
from sixledger.client.sync.client import Client
from sixledger.client.sync.tables import SeatedMatch
from sixledger.engine.game import Outcome
from sixledger.v1 import match_service_pb2

#: (view of the seat that must act, randomness) → a command. `sixledger.engine.bots` has some.
Policy = Callable[[Any, Random], Message]


def run_bot(
    client: Client,
    match_id: bytes,
    seat: int,
    policy: Policy,
    *,
    random: Random | None = None,
    credentials: Credentials | None = None,
    display_name: str = "",
    save_to: str | Path | None = None,
) -> Outcome | None:
    """Play a seat with `policy` until the match is over; the result is None if it never started.

    Joins with fresh credentials, kept in the file `save_to` if given, or goes on with `credentials`; where the
    table asks for it, the seat is ready at once. `random` is the policy's randomness. Raises what `join` and
    `play` raise.
    """
    random = random or Random()  # noqa: S311  # plays a game, guards no secret
    if credentials is not None:
        table = client.matches.resume(credentials)
    else:
        table = client.matches.join(match_id, seat, display_name=display_name, save_to=save_to)
    with table:
        if not table.records:
            table.refresh()
        if _asks_for_readiness(table):
            table.ready()
        while table.turn():
            seen = table.match.seq
            try:
                table.play(policy(table.view(), random))
            except (StaleDecision, IllegalCommand, MatchPaused):
                table.refresh()
                if table.match.seq == seen:
                    raise  # the policy is wrong; else the match went on meanwhile: decide again
        return table.outcome()


async def run_bot_async(
    client: AsyncClient,
    match_id: bytes,
    seat: int,
    policy: Policy,
    *,
    random: Random | None = None,
    credentials: Credentials | None = None,
    display_name: str = "",
    save_to: str | Path | None = None,
) -> Outcome | None:
    """Play a seat with `policy` until the match is over; the result is None if it never started.

    Joins with fresh credentials, kept in the file `save_to` if given, or goes on with `credentials`; where the
    table asks for it, the seat is ready at once. `random` is the policy's randomness. Raises what `join` and
    `play` raise.
    """
    random = random or Random()  # noqa: S311  # plays a game, guards no secret
    if credentials is not None:
        table = await client.matches.resume(credentials)
    else:
        table = await client.matches.join(match_id, seat, display_name=display_name, save_to=save_to)
    async with table:
        if not table.records:
            await table.refresh()
        if _asks_for_readiness(table):
            await table.ready()
        while await table.turn():
            seen = table.match.seq
            try:
                await table.play(policy(table.view(), random))
            except (StaleDecision, IllegalCommand, MatchPaused):
                await table.refresh()
                if table.match.seq == seen:
                    raise  # the policy is wrong; else the match went on meanwhile: decide again
        return table.outcome()


def _asks_for_readiness(table: SeatedMatch | AsyncSeatedMatch) -> bool:
    """True if the table waits for the seat to be ready."""
    match = table.match
    waits = match.status == match_service_pb2.MATCH_STATUS_OPEN and match.opened.HasField("ready_seats")
    return waits and not match.seats[table.seat].ready
