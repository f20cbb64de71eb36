"""`sixledger bench`: what a server takes, and how long it takes, beside an echo of the same run."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import parse_qs, urlsplit

from cyclopts import Parameter, validators
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from sixledger.cli.bench.plan import KINDS, Kind, Mode, Plan
from sixledger.cli.failures import INVALID, OK, Failure, unusable
from sixledger.cli.remote import Tls
from sixledger.cli.terminal import complain, err, out
from sixledger.engine.version import __version__
from sixledger.service.store.urls import POSTGRES_SCHEMES

#: Names the database of `--store postgres`, as its URL may hold a password.
DSN = "SIXLEDGER_BENCH_DSN"
#: Requests of a window, at most.
_MOST = 2_000_000
#: Seconds of a window and of its warm-up, windows, and requests in flight: full and quick.
_FULL, _QUICK = (10.0, 2.0, 3, 64), (1.0, 0.2, 1, 8)


def _number(low: float, high: float) -> Any:
    return validators.Number(gte=low, lte=high)


def bench(
    *scenarios: Annotated[str, Parameter(help=f"What to measure: {', '.join(KINDS)}, or all.", show_default=False)],
    server: Annotated[
        str | None, Parameter(help="HOST:PORT of a server that runs. Default: one of its own for each scenario.")
    ] = None,
    tls: Tls = None,
    store: Annotated[
        str | None,
        Parameter(
            help="Store of its own server: sqlite (a file that is removed afterwards), memory, or a URL; postgres: the "
            f"database that {DSN} names. It gets thousands of matches: use one of its own. Default: sqlite."
        ),
    ] = None,
    transport: Annotated[
        Literal["grpcio", "http2"] | None,
        Parameter(help="What carries the calls of its own server, the echo among them. Default: grpcio."),
    ] = None,
    rate: Annotated[
        float | None, Parameter(validator=_number(0.01, 100_000), help="Send so many requests a second.")
    ] = None,
    saturate: Annotated[bool, Parameter(negative="", help="Only find out what the server takes at most.")] = False,
    half: Annotated[
        bool,
        Parameter(negative="", help="Find out what it takes at most, then send half of it, as most scenarios do."),
    ] = False,
    seconds: Annotated[
        float | None, Parameter(validator=_number(0.2, 600), help="Length of a window. Default: 10, quick 1.")
    ] = None,
    warmup: Annotated[
        float | None, Parameter(validator=_number(0, 60), help="Seconds before it in which nothing counts. Default: 2.")
    ] = None,
    rounds: Annotated[
        int | None, Parameter(validator=_number(1, 20), help="Windows of each side. Default: 3, quick 1.")
    ] = None,
    concurrency: Annotated[
        int | None, Parameter(validator=_number(1, 1000), help="Requests in flight at most. Default: 64.")
    ] = None,
    count: Annotated[
        int | None, Parameter(validator=_number(1, 100_000), help="Watchers, idle or stored matches.")
    ] = None,
    arrivals: Annotated[
        Literal["poisson", "fixed"], Parameter(help="When requests are due: by chance, or evenly.")
    ] = "poisson",
    seed: Annotated[int, Parameter(help="Another number, other moments and moves.")] = 0,
    json_file: Annotated[Path | None, Parameter("--json", help="Write everything as JSON.")] = None,
    picture: Annotated[Path | None, Parameter(help="Draw latencies and throughput: an SVG file.")] = None,
    quick: Annotated[bool, Parameter(negative="", help="Short and small: does it work?")] = False,
    check: Annotated[bool, Parameter(negative="", help="Exit status 1 if a ratio is out of reach.")] = False,
    server_pid: Annotated[int | None, Parameter(help="Process of --server, to measure its processor time.")] = None,
    database_pid: Annotated[int | None, Parameter(help="Process of its database, likewise.")] = None,
    i_own_this_server: Annotated[
        bool, Parameter(negative="", help="Send load to a server or database on another machine.")
    ] = False,
) -> int:
    """Send load to a server, and say what it takes and how long it takes, beside an echo of the same run.

    Requests are due at moments that do not depend on replies, and each latency counts from its moment: a server that
    stalls makes all wait that were due meanwhile. The load is a process of its own, and so is the server. A warm-up
    does not count. Processor time is told apart for server, load and database.
    """
    _needs_extra()
    if saturate + half + (rate is not None) > 1:
        raise unusable("--rate, --saturate and --half are three ways: give one")
    if server is not None and store is not None:
        raise unusable("--store is for a server of its own: leave --server or --store out")
    if server is not None and transport is not None:
        raise unusable("--transport is for a server of its own: leave --server or --transport out")
    if server is None and (server_pid or database_pid):
        raise unusable("--server-pid and --database-pid belong to --server; it knows its own server")
    kinds = _kinds(scenarios)
    url = _store(store)
    for hosts, what in (([_host(server)], f"--server {server}"), (_database_hosts(url), "the database")):
        if not (all(map(_is_local, hosts)) or i_own_this_server):
            raise unusable(f"{what} is on another machine: only with --i-own-this-server, if it is yours to load")
    wanted = _Wanted(
        "saturate" if saturate else "half" if half else None if rate is None else "rate",
        rate, seconds, warmup, rounds, concurrency, count, quick,
    )  # fmt: skip
    base = {"address": server or "", "seed": seed, "arrivals": arrivals, "tls": tls, "shows_key": server is not None}
    pids = {"server_pid": server_pid, "database_pid": database_pid}
    plans = [_plan(kind, wanted, {**base, **pids}) for kind in kinds]
    own = None if server is not None else (url, transport or "grpcio")
    return _run(plans, own, json_file, picture, check=check)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What was asked for, where None stands for what suits the scenario."""

    mode: Mode | None
    rate: float | None
    seconds: float | None
    warmup: float | None
    rounds: int | None
    concurrency: int | None
    count: int | None
    quick: bool


def _needs_extra() -> None:
    for module, package in (("hdrh", "hdrhistogram"), ("psutil", "psutil")):
        if find_spec(module) is None:
            raise Failure(f"this command needs the package {package}; install it with: pip install 'sixledger[bench]'")


def _kinds(names: tuple[str, ...]) -> list[Kind]:
    if not names:
        raise unusable(f"name what to measure: {', '.join(KINDS)}, or all")
    for name in names:
        if name not in KINDS and name != "all":
            raise unusable(f"no scenario {name!r}; there are: {', '.join(KINDS)}, and all")
    return [kind for kind in KINDS.values() if kind.name in names or "all" in names]


def _plan(kind: Kind, wanted: _Wanted, given: dict[str, Any]) -> Plan:
    """The plan of a scenario. Raises Failure for what it cannot do."""
    if wanted.mode is not None and wanted.mode not in kind.modes:
        raise unusable(f"{kind.name} knows no --{wanted.mode}; leave it out")
    defaults = _QUICK if wanted.quick else _FULL
    own = (wanted.seconds, wanted.warmup, wanted.rounds, wanted.concurrency)
    seconds, warmup, rounds, concurrency = (
        default if value is None else value for value, default in zip(own, defaults, strict=True)
    )
    rate = wanted.rate or (kind.quick_rate if wanted.quick else kind.rate)
    count = wanted.count or (kind.quick_count if wanted.quick else kind.count)
    if rate * (seconds + warmup) > _MOST:
        raise unusable(f"--rate and --seconds make more than {_MOST:,} requests in a window; take less of one")
    usual: Mode = "rate" if wanted.quick or not kind.modes else kind.modes[0]
    mode = wanted.mode or usual
    sizes = sorted({max(count // 100, 1), max(count // 10, 1), count}) if kind.name == "growth" else []
    return Plan(
        kind.name, mode=mode, rate=rate, seconds=seconds, warmup_s=warmup, rounds=int(rounds),
        concurrency=int(concurrency), count=count, sizes=sizes, **given,
    )  # fmt: skip


def _store(store: str | None) -> str:
    """The URL of the store, `sqlite` for a file of its own."""
    if store in (None, "sqlite"):
        return "sqlite"
    if store in ("memory", "memory:"):
        return "memory:"
    if store == "postgres":
        if url := os.environ.get(DSN, ""):
            return url
        raise unusable(f"name the database in {DSN}, as postgresql://USER@HOST/DATABASE")
    assert store is not None
    if store.partition(":")[0] not in ("sqlite", *POSTGRES_SCHEMES) or ":" not in store:
        raise unusable("--store is sqlite, memory, postgres, sqlite:PATH or postgresql://…")
    return store


def _host(server: str | None) -> str:
    """The host of HOST:PORT; empty for this machine."""
    if server is None or server.startswith("unix:"):
        return ""
    return server.rpartition(":")[0].strip("[]") or server


def _database_hosts(url: str) -> list[str]:
    """Every host at which the driver may look for a database; a folder is one of this machine."""
    if not url.startswith(POSTGRES_SCHEMES):
        return []
    try:
        parts = urlsplit(url)
        query = parse_qs(parts.query)
    except ValueError:
        raise unusable("the store is not the URL of a PostgreSQL database") from None
    services = [*query.get("service", []), os.environ.get("PGSERVICE", "")]  # a file says where these are
    named = [parts.netloc.rpartition("@")[2], *query.get("host", [])]
    if not any(named):
        named.append(os.environ.get("PGHOST", ""))
    hosts = [_without_port(each) for text in named for each in text.split(",")]
    return [*hosts, *(f"service {each}" for each in services if each)]


def _without_port(address: str) -> str:
    """The host of HOST, HOST:PORT or [HOST]:PORT; empty for a folder."""
    if address.startswith(("/", "%2F", "%2f")):
        return ""
    if address.startswith("["):
        return address[1:].partition("]")[0]
    return address if address.count(":") > 1 else address.partition(":")[0]


def _is_local(host: str) -> bool:
    return host in ("", "localhost", "::1") or (host.startswith("127.") and host.replace(".", "").isdigit())


def _run(
    plans: list[Plan], own: tuple[str, str] | None, json_file: Path | None, picture: Path | None, *, check: bool
) -> int:
    """Measure, tell, and write files. `own`: store and transport of a server for each scenario."""
    from sixledger.cli.bench.machine import in_words, machine
    from sixledger.cli.bench.picture import picture as draw
    from sixledger.cli.bench.report import missed, problems, report

    console = out()
    found_machine = machine()
    results: list[dict[str, Any]] = []
    for plan in plans:
        result = _measure(plan, own)
        if not results:
            console.print(in_words(found_machine), style="faint")
        results.append(result)
        report(console, result)
    document = {
        "format": 1,
        "version": __version__,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": found_machine,
        "server": {
            "own": own is not None,
            "store": "unknown" if own is None else _name(own[0]),
            "transport": "unknown" if own is None else own[1],
        },
        "results": results,
    }
    if json_file is not None:
        json_file.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if picture is not None:
        picture.write_text(draw(document), encoding="utf-8")
    lines = missed(results) if check else []
    lines += [f"{result['scenario']}: {problem}" for result in results for problem in problems(result)]
    for line in lines:
        complain(line)
    return INVALID if lines else OK


def _name(store: str) -> str:
    """The kind of a store: its URL may hold a password."""
    return store.partition(":")[0]


def _measure(plan: Plan, own: tuple[str, str] | None) -> dict[str, Any]:
    """Measure one scenario, with a progress bar where a terminal watches."""
    from sixledger.cli.bench.runner import OwnServer, measure

    server = None if own is None else OwnServer(own[0], plan.kind.cached_matches, transport=own[1])
    with _progress(plan.scenario) as tell:
        result = asyncio.run(measure(plan, server, tell))
    settings = {
        name: getattr(plan, name)
        for name in ("rate", "seconds", "warmup_s", "rounds", "concurrency", "count", "sizes", "seed", "arrivals")
    }
    return {**result, "settings": settings}


@contextmanager
def _progress(name: str) -> Iterator[Any]:
    console = err()
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(name, total=1.0)

        def tell(text: str, share: float) -> None:
            progress.update(task, description=f"{name}: {text}", completed=share)

        yield tell
