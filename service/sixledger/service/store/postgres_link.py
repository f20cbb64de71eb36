"""Connections to PostgreSQL, and what their failures mean."""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import urlsplit

import asyncpg
from sixledger.service.store.base import StoreError
from sixledger.service.store.postgres_settings import PostgresSettings

if TYPE_CHECKING:
    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]
    Pooled: TypeAlias = Connection | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]
    Pool: TypeAlias = asyncpg.Pool[asyncpg.Record]

T = TypeVar("T")

#: What a statement or an attempt to connect may raise because of the database, the network or their state.
DATABASE_ERRORS = (OSError, EOFError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)

#: Plans that look everything up by its key. The tables grow from nothing while cached plans live, and what was quick
#: for ten rows must not stay for ten million.
_BY_KEY = {"enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off"}
#: Between two attempts, doubled each time.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.02, 0.5


class Trouble(enum.Enum):
    """What to do after a failure."""

    #: The connection is lost, and with it the outcome of what ran on it: connect anew.
    LOST = enum.auto()
    #: Rolled back because of others at the same time: the same again.
    COLLISION = enum.auto()
    #: Rolled back because of the values: without the one that does not fit, the others may go.
    VALUE = enum.auto()
    #: Rolled back, or never begun; trying again does not help now.
    REFUSED = enum.auto()


def trouble(error: BaseException) -> Trouble:
    """What an error of the database or its driver means."""
    if isinstance(error, asyncpg.ClientConfigurationError):
        return Trouble.REFUSED
    if not isinstance(error, asyncpg.PostgresError):
        # The driver's word for a value that it cannot send is an InterfaceError and a ValueError. A certificate that
        # is not trusted is a ValueError as well, and an OSError.
        is_value = isinstance(error, asyncpg.InterfaceError) and isinstance(error, ValueError)
        return Trouble.VALUE if is_value else Trouble.LOST
    state = error.sqlstate or ""
    # 57P: the server stops, has crashed or is starting. 40003: it does not know itself whether it has committed.
    # 25006: a standby that was a primary. 53300: too many connections, until a restart has dropped the old ones.
    if state[:2] == "08" or state[:3] == "57P" or state in ("40003", "25006", "53300"):
        return Trouble.LOST
    if state[:2] == "40":
        return Trouble.COLLISION
    return Trouble.VALUE if state[:2] in ("22", "23", "54") else Trouble.REFUSED


#: Classes of SQLSTATE whose messages speak of servers, roles and tables, and never of values.
_SPEAKING = ("08", "25", "28", "3D", "3F", "42", "53", "55", "57", "58")


def told(error: BaseException) -> str:
    """An error in words that hold no value of a row and no password."""
    if isinstance(error, StoreError):
        return str(error)
    if isinstance(error, asyncpg.PostgresError):
        state = error.sqlstate or "?????"
        message = str(error.args[0]) if state[:2] in _SPEAKING and error.args else type(error).__name__
        return f"{message} (SQLSTATE {state})"
    if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
        return "no host of the URL takes writes: name the primary, or all hosts"
    if isinstance(error, asyncpg.ClientConfigurationError):
        # Its text may repeat parts of the URL.
        return "the driver does not understand the URL: look at its hosts and at what stands behind the question mark"
    if isinstance(error, TimeoutError):
        return "the database does not answer"
    if isinstance(error, OSError):
        return f"no connection to the database: {error.strerror or type(error).__name__}"
    return f"the connection to the database is lost ({type(error).__name__})"


class Link:
    """Makes connections as the settings say. Its repr and errors never hold the URL."""

    def __init__(self, url: str, settings: PostgresSettings) -> None:
        """Raise ValueError for a URL that cannot be one."""
        check_url(url)
        if settings.direct:
            check_url(settings.direct)
        self._url = url
        self.settings = settings

    def _arguments(self, *, by_key: bool, direct: bool) -> dict[str, Any]:
        settings = self.settings
        arguments: dict[str, Any] = {
            "dsn": settings.direct if direct and settings.direct else self._url,
            "timeout": settings.connect_timeout_s,
            # The database gives up first, and says so; only if it does not answer at all, the driver does.
            "command_timeout": settings.statement_timeout_s + 2,
            "target_session_attrs": "read-write",
        }
        if not settings.direct or direct:
            # A pooler in transaction mode hands sessions on, and refuses such wishes.
            arguments["server_settings"] = {
                "application_name": "sixledger",
                "statement_timeout": str(round(settings.statement_timeout_s * 1000)),
                "jit": "off",
                **(_BY_KEY if by_key else {}),
            }
        return arguments

    async def connect(self, *, by_key: bool = False, direct: bool = False) -> Connection:
        """A new connection. `by_key`: for statements that look up whole keys; `direct`: past a pooler."""
        return await asyncpg.connect(**self._arguments(by_key=by_key, direct=direct))

    async def pool(self) -> Pool:
        """A pool for reading."""
        arguments = self._arguments(by_key=False, direct=False)
        # Statements of this module leave nothing behind in a session, so that there is nothing to reset.
        # None is kept for its own sake: the pool would log whenever it cannot be had.
        return await asyncpg.create_pool(min_size=0, max_size=self.settings.readers, reset=_nothing, **arguments)

    async def patiently(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """What `attempt` gives, tried anew while the connection is lost and `retry_s` lasts. It may run twice."""
        clock = asyncio.get_running_loop().time
        until, pause_s = clock() + self.settings.retry_s, FIRST_PAUSE_S
        while True:
            try:
                return await attempt()
            except DATABASE_ERRORS as error:
                if trouble(error) not in (Trouble.LOST, Trouble.COLLISION) or clock() + pause_s > until:
                    raise
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


async def _nothing(connection: Pooled) -> None:
    """Reset nothing."""


async def close(connection: Connection | None, *, timeout_s: float = 2.0) -> None:
    """Close a connection, politely if the other side still answers."""
    if connection is None or connection.is_closed():
        return
    try:
        await connection.close(timeout=timeout_s)
    except DATABASE_ERRORS:
        connection.terminate()


def check_url(url: str) -> None:
    """Raise ValueError, without repeating it, unless this can be the URL of a PostgreSQL database."""
    try:
        parts = urlsplit(url)
        _ = parts.port if "," not in parts.netloc else None
    except ValueError:
        parts = None
    if parts is None or parts.scheme not in ("postgres", "postgresql"):
        raise ValueError(
            "the URL of a PostgreSQL database is postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with signs such as @ "
            "or / in a password written as %40 or %2F; what was given is not repeated, it may hold a password"
        )
