"""`sixledger admin`: what the operator of a server does. Here or, with `--server`, on a server that runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from cyclopts import App, Parameter, validators
from rich.table import Table
from rich.text import Text
from sixledger.cli.admin_store import abort, erase_names, new_keys, restored
from sixledger.cli.archive import archive, unarchive
from sixledger.cli.offline import DataDir, StoreUrl, with_store
from sixledger.cli.remote import Tls, connected
from sixledger.cli.rotate import rotate_keys
from sixledger.cli.terminal import out, write_json
from sixledger.service.api_keys import ApiKeys, shown
from sixledger.service.audit import audit_here
from sixledger.service.matches import wall_clock
from sixledger.v1 import access_service_pb2 as pb

T = TypeVar("T")

app = App(
    name="admin",
    help="Manage a server: its API keys, restored and archived matches, display names.",
    help_epilogue=(
        "Examples:\n\n    sixledger admin keys list\n    sixledger admin keys add club --scope create\n"
        "    sixledger admin restored --data-dir /var/lib/sixledger\n    sixledger admin abort --restored\n"
        "    sixledger admin erase-names 3f0c… --seat 2\n"
        "    sixledger admin archive --older-than 30d --to /srv/archive\n\n"
        "All but `keys --server` work on the store: a server on SQLite must be stopped for it, those on PostgreSQL may "
        "run. Each act leaves a line of the audit log on the standard error."
    ),
)
keys = App(
    name="keys",
    help="API keys: who may open matches, list their own, and manage keys.",
    help_epilogue=(
        "Examples:\n\n    sixledger admin keys add club --scope create --scope list\n"
        "    sixledger admin keys add root --scope admin --data-dir /var/lib/sixledger\n"
        "    sixledger admin keys list --server localhost:7655\n"
        "    sixledger admin keys add --replaces 1f2e… --overlap 86400\n    sixledger admin keys revoke 1f2e…\n\n"
        "Without --server the store is opened, which a running server has locked. With it the key in SIXLEDGER_API_KEY,"
        " which must have the scope admin, is shown to the server."
    ),
)
app.command(keys)
app.command(new_keys)
app.command(restored)
app.command(abort)
app.command(erase_names)
app.command(rotate_keys)
app.command(archive)
app.command(unarchive)

Server = Annotated[str | None, Parameter(help="HOST:PORT of a running server. Default: the store, here.")]
Json = Annotated[bool, Parameter("--json", negative="", help="Print JSON for a program.")]
Seconds = Annotated[int, Parameter(validator=validators.Number(gte=0, lt=2**32), help="Seconds.")]
Count = Annotated[int, Parameter(validator=validators.Number(gte=0, lt=2**32), help="0: as many as anybody.")]
Scope = Literal["create", "list", "admin"]

_SCOPES: dict[str, pb.ApiScope.ValueType] = {
    "create": pb.API_SCOPE_CREATE,
    "list": pb.API_SCOPE_LIST,
    "admin": pb.API_SCOPE_ADMIN,
}


@keys.command
def add(
    name: Annotated[str, Parameter(help="Name of the key, for people.")] = "",
    /,
    *,
    scope: Annotated[
        list[Scope] | None, Parameter(negative="", help="What it is good for. May be repeated. Default: create.")
    ] = None,
    valid: Annotated[Seconds, Parameter(help="Seconds that it is valid; 0: until it is revoked.")] = 0,
    calls: Annotated[Count, Parameter(help="Calls a second on average; 0: as many as anybody.")] = 0,
    matches: Annotated[Count, Parameter(help="Matches open at a time; 0: as many as anybody.")] = 0,
    replaces: Annotated[str, Parameter(help="Id of a key that this one takes over from.")] = "",
    overlap: Annotated[Seconds, Parameter(help="Seconds that the replaced key stays valid.")] = 0,
    server: Server = None,
    tls: Tls = None,
    data_dir: DataDir = None,
    store: StoreUrl = None,
    as_json: Json = False,
) -> None:
    """Make a key and print it, this once: only a hash of it is kept."""
    scopes = [_SCOPES[each] for each in scope or ([] if replaces else ["create"])]
    if server is not None:
        with connected(server, tls) as client:
            made = client.access.create_key(
                name,
                scopes,
                valid=valid,
                calls_per_second=calls,
                open_matches=matches,
                replaces=replaces,
                overlap=overlap,
            )
        secret, key = made.secret, made.key
    else:
        secret, row = _here(
            data_dir,
            store,
            lambda found: found.add(
                name,
                scopes,
                valid_s=valid,
                calls_per_second=calls,
                open_matches=matches,
                replaces=replaces,
                overlap_s=overlap,
            ),
        )
        key = shown(row)
        audit_here(
            "api_key_rotated" if replaces else "api_key_created", key=key.id, replaces=replaces, scopes=row.scopes
        )
    if as_json:
        write_json({**_plain(key), "key": secret})
        return
    console = out()
    console.print(Text(secret, "command"), soft_wrap=True)
    console.print(Text(f"key {key.id}: keep it now, it is not shown again", "faint"), soft_wrap=True)


@keys.command(name="list")
@keys.default
def list_keys(
    *,
    server: Server = None,
    tls: Tls = None,
    data_dir: DataDir = None,
    store: StoreUrl = None,
    as_json: Json = False,
) -> None:
    """List the keys, oldest first, without their secrets."""
    if server is not None:
        with connected(server, tls) as client:
            found: Sequence[pb.ApiKey] = client.access.list_keys()
    else:
        found = [shown(row) for row in _here(data_dir, store, lambda kept: kept.rows())]
    if as_json:
        write_json([_plain(key) for key in found])
        return
    console = out()
    if not found:
        console.print("There is no key yet: sixledger admin keys add NAME")
        return
    table = Table(box=None, pad_edge=False, header_style="heading")
    for title in ("key", "name", "scopes", "calls/s", "matches", "ends"):
        table.add_column(title, overflow="fold")
    for key in found:
        table.add_row(
            key.id,
            key.name,
            " ".join(_words(key)),
            str(key.calls_per_second or "–"),
            str(key.open_matches or "–"),
            _when(key.expires_us),
        )
    console.print(table)


@keys.command
def revoke(
    key: Annotated[str, Parameter(help="Id of the key.")],
    /,
    *,
    overlap: Annotated[Seconds, Parameter(help="Seconds that it stays valid.")] = 0,
    server: Server = None,
    tls: Tls = None,
    data_dir: DataDir = None,
    store: StoreUrl = None,
) -> None:
    """End a key, at once or after a while."""
    if server is not None:
        with connected(server, tls) as client:
            ended = client.access.revoke_key(key, overlap=overlap)
    else:
        ended = shown(_here(data_dir, store, lambda kept: kept.revoke(key, overlap)))
        audit_here("api_key_revoked", key=ended.id, ends_us=ended.expires_us)
    out().print(Text(f"key {ended.id} ends {_when(ended.expires_us)}"), soft_wrap=True)


def _here(data_dir: Path | None, store: str | None, work: Callable[[ApiKeys], Awaitable[T]]) -> T:
    """What `work` gives for the keys of the store, opened for it. Raises Failure."""
    manage = ", or manage the keys with --server"
    # The first key is made before the server that wants one starts for the first time.
    return with_store(data_dir, store, lambda opened: work(ApiKeys(opened, wall_clock)), locked=manage, may_make=True)


def _words(key: pb.ApiKey) -> list[str]:
    return [name for name, value in _SCOPES.items() if value in key.scopes]


def _when(time_us: int) -> str:
    return f"{datetime.fromtimestamp(time_us / 1_000_000, UTC):%Y-%m-%d %H:%M:%S} UTC" if time_us else "never"


def _plain(key: pb.ApiKey) -> dict[str, object]:
    return {
        "id": key.id,
        "name": key.name,
        "scopes": _words(key),
        "created_us": key.created_us,
        "expires_us": key.expires_us,
        "calls_per_second": key.calls_per_second,
        "open_matches": key.open_matches,
    }
