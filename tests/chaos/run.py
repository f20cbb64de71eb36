"""Breaks servers on purpose while matches are played, and checks that nothing was lost: `make chaos`.

    python tests/chaos/run.py [--seconds 120] [--seed 1] [--store both] [--replicas 3] [--tables 6] [--out out/chaos]

The seed makes the plan of the faults and of the matches; what the threads and processes make of it differs from run to
run. Exit status 1: something was broken, and the report says what. Histories and ledgers stay in the output folder.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":  # run as a script: find the siblings as the tests do
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from chaos.bots import Bots
from chaos.checker import Check, check
from chaos.cluster import ORIGIN, Cluster, on_postgres, on_sqlite, remove
from chaos.history import HEAD, History
from chaos.ledgers import Ledger, judge, read_ledger
from chaos.nemesis import ON_POSTGRES, ON_SQLITE, Nemesis, plan
from chaos.report import Part, markdown, summarise, write
from sixledger.client import AsyncClient, Settings
from sixledger.ledger.heads import HeadSigner

#: Share of the time for SQLite if both stores are tried.
_SQLITE_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Options:
    """One run at one store."""

    seconds: float
    seed: int
    tables: int = 6
    replicas: int = 3
    pace_s: float = 0.2
    #: Seconds between two faults, on average.
    gap_s: float = 2.0
    #: Seconds for what runs when the faults end.
    finish_s: float = 90.0


async def run(store: str, folder: Path, options: Options) -> Part:
    """Play, break, heal, play to the end, export, check. `store` is postgres or sqlite."""
    await asyncio.to_thread(folder.mkdir, parents=True)
    replicas = options.replicas if store == "postgres" else 1
    kinds = ON_POSTGRES if store == "postgres" else ON_SQLITE
    faults = plan(options.seed, options.seconds, replicas, kinds, gap_s=options.gap_s)
    context = on_postgres(folder, replicas) if store == "postgres" else on_sqlite(folder)
    with History(folder / "history.jsonl") as history:
        async with context as cluster:
            nemesis = Nemesis(cluster)
            async with Bots(cluster, history, options.seed, pace_s=options.pace_s) as bots:
                playing = asyncio.create_task(bots.play(options.tables))
                await nemesis.run(faults, options.seconds)
                await cluster.heal()
                if playing.done():
                    playing.result()  # the bots themselves are wrong
                bots.finishing.set()
                await asyncio.wait({playing}, timeout=options.finish_s)
                unfinished = not playing.done()
                playing.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await playing
                await cluster.forget()
                ledgers = await _export(cluster, bots, folder)
            what = f"{replicas} servers on PostgreSQL" if store == "postgres" else "one server on SQLite"
            part = Part(f"{what}", options.seed, options.seconds, what, _disk(cluster))
            part.starts = sum(replica.starts for replica in cluster.replicas)
            part.crashes = sum(len(replica.crashes) for replica in cluster.replicas)
            defects = [line for replica in cluster.replicas for line in replica.defects()]
            key = HeadSigner(ORIGIN, cluster.keyring.signing_key).verifier_key
    heads = defaultdict[str, set[str]](set)
    for event in history.events:
        if event.what == HEAD:
            heads[event.match].add(event.detail)
    for ledger in ledgers:
        if ledger.replica == cluster.replicas[0].name:
            path = folder / "ledgers" / f"{ledger.match}.{ledger.replica}.ledger.jsonl"
            ledger.verdict = await asyncio.to_thread(judge, path, [key], heads[ledger.match])
    part.checks = [*check(history.events, ledgers), _lived(cluster, defects, unfinished)]
    summarise(part, history.events, ledgers, nemesis.done)
    return part


def _disk(cluster: Cluster) -> str:
    of_others = cluster.server is not None and not cluster.disk.mounted
    return "nothing, the disk is not ours" if of_others else cluster.disk.kind


def _lived(cluster: Cluster, defects: Sequence[str], unfinished: bool) -> Check:
    made = Check("no server ended by itself or logged a defect, and every match went on once all was well")
    for replica in cluster.replicas:
        made.of(not replica.crashes, f"{replica.name} ended by itself: {replica.crashes}")
    for line in defects:
        made.of(False, line)
    made.of(not unfinished, "some matches or watchers did not come to their end in time")
    return made


async def _export(cluster: Cluster, bots: Bots, folder: Path) -> list[Ledger]:
    """Every ledger as every replica has it."""
    (folder / "ledgers").mkdir()
    found: list[Ledger] = []
    for replica in cluster.replicas:
        async with AsyncClient(f"127.0.0.1:{replica.clients.port}", settings=Settings(patience=30)) as client:
            for match_id in bots.opened:
                path = folder / "ledgers" / f"{match_id.hex()}.{replica.name}.ledger.jsonl"
                found.append(read_ledger(await client.matches.export(match_id, path), replica.name))
    return found


async def run_all(stores: Sequence[str], folder: Path, options: Options) -> list[Part]:
    """One store after the other."""
    parts = []
    for store in stores:
        share = 1.0 if len(stores) == 1 else _SQLITE_SHARE if store == "sqlite" else 1 - _SQLITE_SHARE
        own = Options(
            options.seconds * share,
            options.seed,
            options.tables,
            options.replicas,
            options.pace_s,
            options.gap_s,
            options.finish_s,
        )
        parts.append(await run(store, folder / store, own))
        write(parts, folder)
    return parts


def main() -> int:
    """Run as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--seconds", type=float, default=120.0, help="time of the faults; ending and checking come after"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", choices=("both", "postgres", "sqlite"), default="both")
    parser.add_argument("--replicas", type=int, default=3)
    parser.add_argument("--tables", type=int, default=6, help="matches at a time")
    parser.add_argument("--pace", type=float, default=0.2, help="seconds that a seat thinks, on average")
    parser.add_argument("--gap", type=float, default=2.0, help="seconds between two faults, on average")
    parser.add_argument("--out", type=Path, default=Path("out/chaos"))
    given = parser.parse_args()
    remove(given.out)
    given.out.mkdir(parents=True)
    stores = ("postgres", "sqlite") if given.store == "both" else (given.store,)
    options = Options(given.seconds, given.seed, given.tables, given.replicas, given.pace, given.gap)
    parts = asyncio.run(run_all(stores, given.out, options))
    sys.stdout.write(markdown(parts))
    return 0 if all(part.good for part in parts) else 1


if __name__ == "__main__":
    sys.exit(main())
