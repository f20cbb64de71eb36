"""Bots that play their seats on a server, each in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any

from sixledger.cli.seating import randoms, secret
from sixledger.client import Client, Credentials, run_bot
from sixledger.engine.bots import Policy
from sixledger.engine.game import Outcome


def credentials(match_id: bytes, seat: int, name: str, seed: int | None) -> Credentials:
    """Fresh secrets of a seat; with a seed they follow from it, so that the same match can be played again."""
    use = f"{match_id.hex()}/{seat}"
    return Credentials(
        match_id,
        seat,
        secret(seed, f"{use}/secret"),
        secret(seed, f"{use}/key"),
        secret(seed, f"{use}/contribution"),
        display_name=name,
    )


class BotThreads:
    """Seats bots at a match: signed, and contributing to the randomness."""

    def __init__(
        self,
        client: Client,
        match_id: bytes,
        bots: dict[int, tuple[str, Policy]],
        *,
        seed: int | None,
        on_failure: Callable[[], None] = lambda: None,
    ) -> None:
        """`bots` are name and policy by seat. `on_failure` is called when one cannot go on."""
        self._pool = ThreadPoolExecutor(len(bots), thread_name_prefix="bot")
        self._on_failure = on_failure
        random = randoms(seed, list(bots))
        self._games: list[Future[Outcome | None]] = []
        for seat, (name, policy) in bots.items():
            own = credentials(match_id, seat, name, seed)
            game = self._pool.submit(run_bot, client, match_id, seat, policy, random=random[seat], credentials=own)
            game.add_done_callback(self._done)
            self._games.append(game)

    def _done(self, game: Future[Any]) -> None:
        if not game.cancelled() and game.exception() is not None:
            self._on_failure()

    def check(self) -> None:
        """Raise what has stopped a bot, if anything has."""
        for game in self._games:
            if game.done() and not game.cancelled():
                game.result()

    def __enter__(self) -> BotThreads:
        """The bots, playing."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Wait for the end of the match; if something failed, leave the bots to the closing of the client."""
        self._pool.shutdown(wait=kind is None, cancel_futures=True)
