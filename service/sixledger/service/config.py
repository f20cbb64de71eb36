"""The settings of a server, from code, options or the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from sixledger.service.caller import Networks, networks
from sixledger.service.store.postgres_settings import PostgresSettings
from sixledger.service.store.sealing import Seal
from sixledger.service.store.urls import POSTGRES_SCHEMES

PREFIX = "SIXLEDGER_"
#: What callers from elsewhere may do unless the operator says otherwise: calls a second, matches, streams.
_REMOTE_LIMIT = 100
_MAX_WORKERS = 1024


def _check_port(name: str, address: str) -> None:
    """Raise ValueError for a port that does not exist: gRPC would take another one without a word."""
    port = address.rpartition(":")[2]
    if not address.startswith("unix:") and port.isascii() and port.isdecimal() and int(port[:6]) > 65535:
        raise ValueError(f"{name} has a port above 65535")


@dataclass(frozen=True, slots=True)
class Settings:
    """How a server runs. Each field is also read from `SIXLEDGER_<FIELD>` by `from_environment`."""

    #: Address to listen on: `HOST:PORT` (port 0: any free one), `[IPv6]:PORT` or `unix:PATH`.
    listen: str = "127.0.0.1:7655"
    #: What carries the calls: `grpcio`, or `http2`, which takes less than half the processor time for a call and needs
    #: the extra of that name (`docs/how-to/http2.md`).
    transport: str = "grpcio"
    #: Folder of store and keys, unless they are named themselves.
    data_dir: Path = Path("sixledger-data")
    #: Store URL: `memory:`, `sqlite:PATH` or `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`; empty: `matches.db` in
    #: the data folder. May hold a password.
    store: str = field(default="", repr=False)
    #: Key file; None: `keys.json` in the data folder, or fresh keys for a store in memory.
    key_file: Path | None = None
    #: Seconds between two looks whether the key file has changed; SIGHUP makes a look at once.
    key_tick_s: float = 10.0
    #: Name under which heads are signed, without spaces and `+`; empty: the address.
    origin: str = ""
    #: PEM files of the certificate chain and its key; both or none.
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    #: Where operators find metrics, health and channelz, as in `listen`; empty: nowhere. Never open it to everybody.
    admin_listen: str = ""
    #: Share of calls that is traced with OpenTelemetry, 0 to 1. More than 0 needs the extra `tracing`.
    trace_ratio: float = 0.0
    #: debug, info, warning or error.
    log_level: str = "info"
    #: Seconds for which a token of a seat or an owner is valid.
    token_lifetime_s: int = 90 * 24 * 3600
    #: Matches that are kept in memory.
    cached_matches: int = 1024
    #: Largest request in bytes.
    max_request_bytes: int = 4 << 20
    #: Largest ledger for ReplayService in bytes, unpacked.
    max_ledger_bytes: int = 32 << 20
    #: Who may open matches: `yes` only with an API key, `no` everybody; `auto`: everybody if only this machine can
    #: reach the address.
    create_needs_key: str = "auto"
    #: PEM file of the authorities that sign the certificates of clients; then a client without one is turned away.
    tls_client_ca: Path | None = None
    #: Calls a second of one caller on average, twice as many at once; 0: as many as it likes. Default: 0 if only this
    #: machine can reach the address, else 100. An API key may have a limit of its own.
    calls_per_second: float | None = None
    #: Matches that one owner, or without an API key one peer, may have open at a time; 0: any number. Default: 0 if
    #: only this machine can reach the address, else 100. An API key may have a limit of its own.
    max_open_matches: int | None = None
    #: Streams of one caller at a time; 0: any number. Default: 0 if only this machine can reach the address, else 100.
    max_streams_per_caller: int | None = None
    #: Networks of the proxies in front of the server, between commas, as in 10.0.0.0/8: the caller is whom such a proxy
    #: names last in `x-forwarded-for`. Empty: whoever connects is the caller, so all behind a proxy are one.
    trusted_proxies: str = ""
    #: Those who follow one match at a time.
    max_watchers: int = 10_000
    #: Ledgers that wait for ReplayService at a time, the one in work included, and seconds of processor time for each.
    max_verifications: int = 8
    verification_cpu_s: float = 60.0
    #: Calls and streams at once, per connection.
    max_streams: int = 1000
    #: Orders in flight and followed matches of one play stream.
    play_orders: int = 128
    play_followed: int = 256
    #: Seconds between two looks at the store for those who follow a match.
    watch_tick_s: float = 1.0
    #: Seconds of silence after which those who follow a match get a heartbeat.
    heartbeat_s: float = 15.0
    #: Seconds of silence after which a connection is asked whether its other end still lives, and that it has for the
    #: answer: then the connection is closed, and whatever it held is given back.
    keepalive_s: float = 60.0
    keepalive_timeout_s: float = 20.0
    #: Seconds between two looks at the store for deadlines; those that this process sets it meets in time anyway.
    deadline_tick_s: float = 0.5
    #: Seconds that running calls get to finish when the server stops.
    grace_s: float = 10.0
    #: Seconds between two looks whether the store answers; a server whose store does not is not ready.
    ready_tick_s: float = 2.0
    #: Seconds from which a call is logged as slow.
    slow_call_s: float = 1.0
    #: File with the keys under which root secrets are sealed in the store, 64 hexadecimal digits a line. The first one
    #: seals, all of them open; None, and no `secret_keys`: secrets are kept as they are.
    secret_key_file: Path | None = None
    #: The same keys without a file, between commas.
    secret_keys: str = field(default="", repr=False)
    #: Folder of the ledgers that `sixledger admin archive` has taken out of the store; None: there is none.
    archive_dir: Path | None = None
    #: Connections to PostgreSQL for reading, at most; each process has one more for writing and one for wake-ups.
    postgres_readers: int = 4
    #: Seconds after which PostgreSQL gives a statement up.
    postgres_statement_timeout_s: float = 10.0
    #: Seconds for which a write or a read waits for a PostgreSQL that has gone; then callers are told to try again.
    postgres_retry_s: float = 5.0
    #: `yes`: a server brings the tables in PostgreSQL up to date when it starts; `no`: `sixledger db migrate` does.
    postgres_migrate: str = "no"
    #: `yes`: refuse a PostgreSQL that commits without a synchronous standby.
    postgres_require_synchronous_standby: str = "no"
    #: `yes`: servers of one database tell each other of new records by LISTEN and NOTIFY; `no`: they only look.
    postgres_wakeups: str = "yes"
    #: URL that leads past a pooler in transaction mode (`store` leads through it), for wake-ups and migrations; empty:
    #: there is no such pooler. May hold a password.
    postgres_direct: str = field(default="", repr=False)
    #: Processes that `sixledger serve` starts behind the one address. More than 1 need a store in PostgreSQL.
    workers: int = 1

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], **given: Any) -> Settings:
        """Settings from `SIXLEDGER_…` variables; what is `given`, and not None, goes before.

        Raises ValueError, naming the variable but never its value.
        """
        values: dict[str, Any] = {}
        for entry in fields(cls):
            name = PREFIX + entry.name.upper()
            if given.get(entry.name) is not None:
                values[entry.name] = given[entry.name]
            elif environment.get(name):
                values[entry.name] = _read(name, environment[name], str(entry.type))
        if unknown := set(given) - {entry.name for entry in fields(cls)}:
            raise TypeError(f"no such settings: {', '.join(sorted(unknown))}")
        return cls(**values)

    def __post_init__(self) -> None:
        """Check what can be checked without touching anything. Raises ValueError."""
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("tls_certificate and tls_key belong together: give both or none")
        for name in ("listen", "admin_listen"):
            _check_port(name, getattr(self, name))
        whole = ("token_lifetime_s", "cached_matches", "max_request_bytes", "max_ledger_bytes", "max_streams")
        for name in (*whole, "play_orders", "play_followed", "max_watchers", "max_verifications"):
            if not 1 <= getattr(self, name) < 2**31:
                raise ValueError(f"{name} must be at least 1 and fit 31 bits")
        if self.transport not in ("grpcio", "http2"):
            raise ValueError("transport must be grpcio or http2")
        if self.create_needs_key not in ("auto", "yes", "no"):
            raise ValueError("create_needs_key must be auto, yes or no")
        if self.tls_client_ca is not None and self.tls_certificate is None:
            raise ValueError("tls_client_ca needs tls_certificate and tls_key")
        if not 0 <= self.trace_ratio <= 1:
            raise ValueError("trace_ratio must be between 0 and 1")
        for name in ("calls_per_second", "max_open_matches", "max_streams_per_caller"):
            if not 0 <= (getattr(self, name) or 0) < 2**31:
                raise ValueError(f"{name} must be 0 or more and fit 31 bits")
        ticks = ("watch_tick_s", "heartbeat_s", "deadline_tick_s", "key_tick_s", "ready_tick_s")
        for name in (*ticks, "keepalive_s", "keepalive_timeout_s", "slow_call_s", "verification_cpu_s"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive")
        if not self.grace_s >= 0:
            raise ValueError("grace_s must not be negative")
        if self.secret_key_file is not None and self.secret_keys:
            raise ValueError("secret_key_file and secret_keys say the same: give one of them")
        for name in ("postgres_migrate", "postgres_require_synchronous_standby", "postgres_wakeups"):
            if getattr(self, name) not in ("yes", "no"):
                raise ValueError(f"{name} must be yes or no")
        self._check_workers()
        try:
            _ = self.proxies
        except ValueError:
            raise ValueError("trusted_proxies must be networks between commas, as in 10.0.0.0/8,fd00::/8") from None
        try:
            _ = self.postgres
        except ValueError as error:
            raise ValueError(f"postgres_{error}") from None

    def _check_workers(self) -> None:
        if not 1 <= self.workers <= _MAX_WORKERS:
            raise ValueError(f"workers must be between 1 and {_MAX_WORKERS}")
        if self.workers == 1:
            return
        if self.store_url.partition(":")[0] not in POSTGRES_SCHEMES:
            raise ValueError(
                "several workers need a store that they can share, and memory: and sqlite: are for one process: name "
                "one in PostgreSQL as store, postgresql://USER@HOST/DATABASE, or let workers be 1"
            )
        if self.listen.startswith("unix:"):
            raise ValueError(
                "several workers share a port, not a socket file: listen on HOST:PORT, or let workers be 1"
            )

    @property
    def is_local(self) -> bool:
        """True if only this machine can reach the address."""
        host = self.listen.rpartition(":")[0].strip("[]")
        return self.listen.startswith("unix:") or host in {"localhost", "::1"} or host.startswith("127.")

    @property
    def needs_key(self) -> bool:
        """True if only whoever shows an API key may open matches."""
        return self.create_needs_key == "yes" or (self.create_needs_key == "auto" and not self.is_local)

    def limit(self, given: float | None) -> float:
        """A limit for callers as it was given, or its default for the address; 0: none."""
        if given is not None:
            return given
        return 0 if self.is_local else _REMOTE_LIMIT

    @property
    def proxies(self) -> Networks:
        """The networks of the proxies whose word on the caller counts."""
        return networks(self.trusted_proxies)

    @property
    def store_url(self) -> str:
        """The store's URL, with its default."""
        return self.store or f"sqlite:{self.data_dir / 'matches.db'}"

    def seal(self) -> Seal | None:
        """What seals root secrets in the store; None: nothing does. Raises ValueError, or OSError for the file."""
        text = self.secret_keys if self.secret_key_file is None else self.secret_key_file.read_text(encoding="utf-8")
        if self.secret_key_file is None and not text:
            return None
        try:
            return Seal.parse(text)
        except ValueError as error:
            name = "secret_keys" if self.secret_key_file is None else str(self.secret_key_file)
            raise ValueError(f"{name}: {error}") from None

    @property
    def postgres(self) -> PostgresSettings:
        """How a store in PostgreSQL works."""
        return PostgresSettings(
            readers=self.postgres_readers,
            statement_timeout_s=self.postgres_statement_timeout_s,
            retry_s=self.postgres_retry_s,
            migrate=self.postgres_migrate == "yes",
            require_synchronous_standby=self.postgres_require_synchronous_standby == "yes",
            wakeups=self.postgres_wakeups == "yes",
            direct=self.postgres_direct,
        )

    @property
    def key_path(self) -> Path | None:
        """The key file, with its default; None: fresh keys for as long as the process lives."""
        if self.key_file is not None:
            return self.key_file
        return None if self.store_url == "memory:" else self.data_dir / "keys.json"


def _read(name: str, text: str, kind: str) -> Any:
    try:
        if kind.startswith("int"):
            return int(text)
        if kind.startswith("float"):
            return float(text)
    except ValueError:
        raise ValueError(f"{name} must be a number") from None
    return Path(text) if kind.startswith("Path") else text
