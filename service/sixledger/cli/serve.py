"""`sixledger serve`: the server as a process of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.table import Table
from rich.text import Text
from sixledger.cli.failures import Failure, unusable
from sixledger.cli.terminal import out
from sixledger.engine.version import __version__
from sixledger.ledger.heads import HeadSigner
from sixledger.service.config import PREFIX, Settings
from sixledger.service.keyring import KeyFileError
from sixledger.service.process import run
from sixledger.service.server import Server
from sixledger.service.store import StoreError


def serve(
    *,
    listen: Annotated[
        str | None, Parameter(help=f"HOST:PORT, port 0 for any free one, or unix:PATH. Default: {Settings().listen}.")
    ] = None,
    data_dir: Annotated[
        Path | None, Parameter(help=f"Folder of store and keys. Default: {Settings().data_dir} in the current folder.")
    ] = None,
    store: Annotated[
        str | None,
        Parameter(
            help="sqlite:PATH, postgresql://USER@HOST/DATABASE or memory: (gone when the server ends). "
            "Default: a file in the folder. One with a password belongs in SIXLEDGER_STORE: all can read options."
        ),
    ] = None,
    key: Annotated[
        Path | None, Parameter(help="Key file. Default: one in the folder, made at first use; memory: fresh keys.")
    ] = None,
    origin: Annotated[
        str | None, Parameter(help="Name under which the server signs, such as example.org. Default: the address.")
    ] = None,
    tls_certificate: Annotated[Path | None, Parameter(help="PEM file of the certificate chain.")] = None,
    tls_key: Annotated[Path | None, Parameter(help="PEM file of its key.")] = None,
    tls_client_ca: Annotated[
        Path | None, Parameter(help="PEM file of authorities: only clients with a certificate of theirs may connect.")
    ] = None,
    create_needs_key: Annotated[
        Literal["auto", "yes", "no"] | None,
        Parameter(help="Open matches with an API key alone? Default: auto, yes where others can reach the server."),
    ] = None,
    grace: Annotated[
        float | None, Parameter(help="Seconds that running calls get when the server stops. Default: 10.")
    ] = None,
    admin_listen: Annotated[
        str | None, Parameter(help="HOST:PORT of metrics, health and channelz, for operators alone. Default: none.")
    ] = None,
    workers: Annotated[
        int | None,
        Parameter(help="Processes behind the one address; more than 1 need a store in PostgreSQL. Default: 1."),
    ] = None,
    transport: Annotated[
        Literal["grpcio", "http2"] | None,
        Parameter(help="What carries calls; http2 takes less processor time, and needs that extra. Default: grpcio."),
    ] = None,
    trace_ratio: Annotated[
        float | None, Parameter(help="Share of calls to trace with OpenTelemetry, 0 to 1. Default: 0.")
    ] = None,
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"] | None, Parameter(help="From where on to log. Default: info.")
    ] = None,
) -> int | None:
    """Run the server until Ctrl-C or SIGTERM; then running calls finish first.

    Every setting can also come from the environment, as SIXLEDGER_LISTEN, SIXLEDGER_STORE, SIXLEDGER_DATA_DIR …
    Logs go to the standard error, a JSON line each.
    """
    given: dict[str, Any] = {
        "listen": listen,
        "data_dir": data_dir,
        "store": store,
        "key_file": key,
        "origin": origin,
        "tls_certificate": tls_certificate,
        "tls_key": tls_key,
        "tls_client_ca": tls_client_ca,
        "create_needs_key": create_needs_key,
        "grace_s": grace,
        "admin_listen": admin_listen,
        "workers": workers,
        "transport": transport,
        "trace_ratio": trace_ratio,
        "log_level": log_level,
    }
    with plainly():
        settings = Settings.from_environment(os.environ, **given)
        if settings.workers == 1:
            run(settings, started=_say)
            return None
        from sixledger.cli.workers import serve_workers

        return serve_workers(settings, _say_where)


@contextmanager
def plainly() -> Iterator[None]:
    """Raise Failure for what a server may say at its start."""
    try:
        yield
    except KeyFileError as error:
        raise unusable(str(error)) from None
    except ValueError as error:
        raise unusable(f"{error} (options, or variables {PREFIX}…)") from None
    except StoreError as error:
        raise Failure(str(error)) from None


def _say(server: Server) -> None:
    """Tell where the server is and how its signatures can be checked."""
    admin = server.admin.address if server.admin is not None else ""
    _say_where(server.settings, server.address, server.host.signer, admin)


def _say_where(settings: Settings, address: str, signer: HeadSigner, admin: str) -> None:
    """Tell where a server at an address is; `admin`: its operator port, if it has one."""
    console = out()
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="faint", no_wrap=True)
    facts.add_column(overflow="fold")
    facts.add_row("listening on", Text(address, "heading"))
    facts.add_row("origin", Text(settings.origin or address))
    facts.add_row("verifier key", Text(str(signer.verifier_key)))
    facts.add_row("store", Text(_where(settings)))
    facts.add_row("keys", Text(str(settings.key_path or "fresh, gone when the server ends")))
    if admin:
        facts.add_row("operator port", Text(admin))
    if settings.workers > 1:
        facts.add_row("workers", Text(str(settings.workers)))
    facts.add_row("stop", Text("Ctrl-C"))
    console.print(Text(f"sixledger {__version__} is running", "good"))
    console.print(facts)
    console.file.flush()


def _where(settings: Settings) -> str:
    """The store, without what may be a password."""
    url = settings.store_url
    return url if url.startswith(("sqlite:", "memory:")) else f"{url.partition(':')[0]}:…"
