"""What proof costs: verifying signed matches beside their signatures alone, and many ledgers by two processes.

The baseline of the first is Ed25519 and nothing else: the same signatures of the same acts by the same keys, checked
with the same library. Whoever wants to attribute every move must check them, so nobody can be faster than that.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from unittest import mock

from bench.ledger_bench import Played
from bench.measure import Comparison, Report, all_of, by_turns
from sixledger.cli.verify_many import Checked, Terms, check_all
from sixledger.ledger import keys
from support import ledgers

TERMS = Terms(tuple(ledgers.KEYS))


class Signatures:
    """Every signature that the verification of a match checks, each once: key, signature, message."""

    def __init__(self, played: Played) -> None:
        found: dict[tuple[bytes, bytes, bytes], int] = {}
        real = keys.verify

        def noted(public_key: bytes, signature: bytes, message: bytes) -> bool:
            check = (public_key, signature, message)
            found[check] = found.get(check, 0) + 1
            return real(public_key, signature, message)

        with mock.patch.object(keys, "verify", noted):
            played.verify_records()
        self.all = [(keys.load_public_key(key), signature, message) for key, signature, message in found]
        #: How often the verifier checks one that it has checked before.
        self.repeated = sum(found.values()) - len(found)

    def check(self) -> None:
        """Ed25519 and nothing else."""
        for key, signature, message in self.all:
            key.verify(signature, message)


def signed(matches: int, rounds: int) -> list[Comparison]:
    """Signatures per second: within full verification by all processors, and alone by one; and per CPU second."""
    played = [Played(number, signed=True) for number in range(matches)]
    alone = [Signatures(each) for each in played]
    count = sum(len(each.all) for each in alone)
    records = sum(len(each.table.records) for each in played)
    assert count >= 0.95 * records, "every act is signed"
    works = (all_of(Played.verify_records, played), all_of(Signatures.check, alone))

    def rates(clock: Callable[[], float]) -> list[tuple[float, float]]:
        return [(count / full, count / raw) for full, raw in by_turns(rounds, *works, clock=clock)]

    return [
        Comparison.of(
            "full verification of signed commands", "Ed25519 alone, as many, by one processor", "signatures/s",
            rates(time.perf_counter), reach=0.8, low_is_good=False,
        ),
        Comparison.of(
            "full verification of signed commands, CPU time", "Ed25519 alone, as many", "signatures/CPU s",
            rates(time.process_time), low_is_good=False,
        ),
    ]  # fmt: skip


@contextmanager
def _folder(files: int) -> Iterator[list[str]]:
    """Ledgers of a round each."""
    with tempfile.TemporaryDirectory() as folder:
        made = [ledgers.Table(4, name=f"many {number}").play().file() for number in range(min(files, 8))]
        paths = [Path(folder, f"{number}.ledger.jsonl") for number in range(files)]
        for number, path in enumerate(paths):
            path.write_bytes(made[number % len(made)])
        yield [str(path) for path in paths]


def _rate(paths: list[str], jobs: int) -> float:
    """Ledgers per second of wall time, once every process has started."""
    results = check_all(paths, TERMS, jobs)
    first = list(islice(results, len(paths) // 5))
    begun = time.perf_counter()
    rest = list(results)
    seconds = time.perf_counter() - begun
    assert all(each.status == 0 for each in (*first, *rest))
    return len(rest) / seconds


def _cpu(paths: list[str], jobs: int) -> float:
    """CPU seconds of all processes."""
    before = os.times()
    found: list[Checked] = list(check_all(paths, TERMS, jobs))
    assert all(each.status == 0 for each in found)
    return sum(os.times()[:4]) - sum(before[:4])


def shared(files: int, rounds: int) -> list[Comparison]:
    """Many ledgers by two processes and by one.

    Wall time is only as good as the second core. What sharing itself costs is the CPU time a ledger, of all processes
    together: as long as that does not grow, two idle cores do twice the work.
    """
    with _folder(files) as paths:
        few = paths[: max(files // 5, 2)]

        def cpu_per_file(jobs: int) -> float:
            """CPU µs a ledger, without what it takes to start the processes."""
            return (_cpu(paths, jobs) - _cpu(few, jobs)) / (len(paths) - len(few)) * 1e6

        _rate(few, 1)  # the first pays for imports and caches
        pairs = [(_rate(paths, 2), _rate(paths, 1)) for _ in range(rounds)]
        work = [(cpu_per_file(2), cpu_per_file(1)) for _ in range(rounds)]
    return [
        Comparison.of(
            "verifying many ledgers, 2 processes", "1 process", "ledgers/s", pairs, reach=1.8, low_is_good=False
        ),
        Comparison.of("verifying many, CPU time a ledger, 2 processes", "1 process", "µs", work, reach=2 / 1.8),
    ]


def run(matches: int = 4, rounds: int = 7, files: int = 200) -> Report:
    """Measure with so many signed matches and so many files, in so many rounds."""
    return Report([*signed(matches, rounds), *shared(files, max(rounds // 2, 1))], [])


if __name__ == "__main__":
    sys.stdout.write(run().text() + "\n")
