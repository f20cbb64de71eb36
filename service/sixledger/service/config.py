"""The settings of a server, from code, options or the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

PREFIX = "SIXLEDGER_"


@dataclass(frozen=True, slots=True)
class Settings:
    """How a server runs. Each field is also read from `SIXLEDGER_<FIELD>` by `from_environment`."""

    #: Address to listen on: `HOST:PORT` (port 0: any free one), `[IPv6]:PORT` or `unix:PATH`.
    listen: str = "127.0.0.1:7655"
    #: Folder of store and keys, unless they are named themselves.
    data_dir: Path = Path("sixledger-data")
    #: Store URL: `memory:` or `sqlite:PATH`; empty: `matches.db` in the data folder. May hold a password.
    store: str = field(default="", repr=False)
    #: Key file; None: `keys.json` in the data folder, or fresh keys for a store in memory.
    key_file: Path | None = None
    #: Name under which heads are signed, without spaces and `+`; empty: the address.
    origin: str = ""
    #: PEM files of the certificate chain and its key; both or none.
    tls_certificate: Path | None = None
    tls_key: Path | None = None
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
    #: Calls and streams at once, per connection.
    max_streams: int = 1000
    #: Orders in flight and followed matches of one play stream.
    play_orders: int = 128
    play_followed: int = 256
    #: Seconds between two looks at the store for those who follow a match.
    watch_tick_s: float = 1.0
    #: Seconds of silence after which those who follow a match get a heartbeat.
    heartbeat_s: float = 15.0
    #: Seconds that running calls get to finish when the server stops.
    grace_s: float = 10.0
    #: Seconds from which a call is logged as slow.
    slow_call_s: float = 1.0

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
        whole = ("token_lifetime_s", "cached_matches", "max_request_bytes", "max_ledger_bytes", "max_streams")
        for name in (*whole, "play_orders", "play_followed"):
            if not 1 <= getattr(self, name) < 2**31:
                raise ValueError(f"{name} must be at least 1 and fit 31 bits")
        for name in ("watch_tick_s", "heartbeat_s", "slow_call_s"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive")
        if not self.grace_s >= 0:
            raise ValueError("grace_s must not be negative")

    @property
    def is_local(self) -> bool:
        """True if only this machine can reach the address."""
        host = self.listen.rpartition(":")[0].strip("[]")
        return self.listen.startswith("unix:") or host in {"localhost", "::1"} or host.startswith("127.")

    @property
    def store_url(self) -> str:
        """The store's URL, with its default."""
        return self.store or f"sqlite:{self.data_dir / 'matches.db'}"

    @property
    def key_path(self) -> Path | None:
        """The key file, with its default; None: fresh keys for as long as the process lives."""
        if self.key_file is not None:
            return self.key_file
        return None if self.store_url == "memory:" else self.data_dir / "keys.json"


def _read(name: str, text: str, kind: str) -> Any:
    try:
        if kind == "int":
            return int(text)
        if kind == "float":
            return float(text)
    except ValueError:
        raise ValueError(f"{name} must be a number") from None
    return Path(text) if kind.startswith("Path") else text
