"""Verifying many ledgers: where they are, one after the other or shared between processes.

Nothing is kept of a ledger but its report, and that only until the reports before it are passed on: each process
holds one ledger at a time.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import stat
import zlib
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, BinaryIO

from sixledger.cli.failures import UNUSABLE, Failure, one_line, unusable
from sixledger.ledger.faults import UnusableInput
from sixledger.ledger.jsonl import rejoined
from sixledger.ledger.key_list import Trust
from sixledger.ledger.verify import exit_status
from sixledger.ledger.verify import verify as verify_ledger
from sixledger.v1 import replay_service_pb2

#: What ledgers are called; only these are taken from a folder.
ENDINGS = (".ledger.jsonl", ".ledger.jsonl.gz")
#: The first line of a ledger is far shorter.
_HEADER_BYTES = 1 << 20
#: Files that a process is given ahead, so that it never waits for the next one.
_AHEAD = 4
#: Files that may be done before the first that is not: reports are passed on in the order of the files.
_WINDOW = 1000


@dataclass(frozen=True, slots=True)
class Terms:
    """What every ledger is judged by."""

    #: Keys that may have signed the last head; None: the one that is pinned for the origin of the ledger.
    keys: tuple[Trust, ...] | None = None
    pinned: Mapping[str, Trust] = field(default_factory=dict)
    #: Signed heads that somebody kept, by match in hexadecimal.
    receipts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: An incomplete ledger passes.
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Checked:
    """A file and what came of it: a report, or why the file cannot be used."""

    path: str
    status: int
    report: replay_service_pb2.VerifyReport | None = None
    unusable: str = ""


def find(paths: Sequence[str]) -> list[str]:
    """The ledger files that are meant: a folder stands for those below it, sorted. Raises Failure if it has none."""
    found: list[str] = []
    for path in paths:
        if not Path(path).is_dir():
            found.append(path)
            continue
        before = len(found)
        for folder, folders, names in os.walk(path, onerror=_refuse):
            folders.sort()
            inside = (Path(folder, name) for name in sorted(names) if name.endswith(ENDINGS))
            found += [str(each) for each in inside if each.is_file()]
        if len(found) == before:
            raise unusable(f"{path} is a folder without ledgers: their names end in {' or '.join(ENDINGS)}")
    return found


def check(path: str, terms: Terms) -> Checked:
    """Verify one file. It is read once and from its beginning on, so it may be a pipe."""
    try:
        with Path(path).open("rb") as stream:
            found = _verify(stream, terms)
    except OSError as error:
        return Checked(path, UNUSABLE, unusable=one_line(f"the file cannot be read: {error.strerror or error}"))
    except UnusableInput as error:
        return Checked(path, UNUSABLE, unusable=one_line(str(error)))
    return Checked(path, exit_status(found, partial=terms.partial), found)


def check_all(paths: Sequence[str], terms: Terms, jobs: int) -> Generator[Checked]:
    """Verify the files and yield what came of each, in their order, as soon as it is known.

    With `jobs` above 1 so many processes share the work. One that dies is replaced, and the file that it had is
    reported as unusable. Closing the iterator, or an exception such as KeyboardInterrupt, ends the processes.
    """
    if jobs == 1:
        return (_check_whatever(path, terms) for path in paths)
    return _share(paths, terms, jobs)


def default_jobs(files: int) -> int:
    """A process for each core; fewer where starting them would take longer than the work."""
    return max(1, min(os.cpu_count() or 1, files // 32))


def _refuse(error: OSError) -> None:
    raise unusable(f"{error.filename}: {error.strerror}")


# -- one file ------------------------------------------------------------------------------------


def _verify(stream: BinaryIO, terms: Terms) -> replay_service_pb2.VerifyReport:
    if terms.keys is not None and not terms.receipts:
        return verify_ledger(stream, trusted=terms.keys)
    start = stream.read(_HEADER_BYTES)
    origin, match = _names(start)
    pinned = terms.pinned.get(origin)  # keys of others say nothing about this ledger
    trusted = terms.keys if terms.keys is not None else () if pinned is None else (pinned,)
    receipts = terms.receipts.get(match, ())
    if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.seek(0)
        return verify_ledger(stream, trusted=trusted, receipts=receipts)
    return verify_ledger(rejoined(start, stream), trusted=trusted, receipts=receipts)


def _names(start: bytes) -> tuple[str, str]:
    """The origin and the match that a ledger names in its first line; empty if it names none."""
    try:
        if start[:2] == b"\x1f\x8b":
            start = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16).decompress(start, _HEADER_BYTES)
        header: Any = json.loads(start.partition(b"\n")[0])
        return str(header["origin"]), str(header["match"])
    except (ValueError, zlib.error, LookupError, TypeError, RecursionError):
        return "", ""  # the verifier says what is wrong with the file


def _check_whatever(path: str, terms: Terms) -> Checked:
    """One of many: a defect that it shows must not end the work on the others."""
    try:
        return check(path, terms)
    except Exception as error:
        if os.environ.get("SIXLEDGER_DEBUG"):
            raise
        told = f"a defect of sixledger ({type(error).__name__}); SIXLEDGER_DEBUG=1 shows where it happened"
        return Checked(path, UNUSABLE, unusable=told)


# -- several processes ---------------------------------------------------------------------------


class _Worker:
    """A process that verifies the files which it is given, in order."""

    def __init__(self, terms: Terms) -> None:
        # Started afresh rather than forked: a fork would copy the threads' locks of whoever embeds this.
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, terms), daemon=True)
        with _interrupts_ignored():
            self.process.start()
        theirs.close()
        #: Numbers of the files that it has not reported yet.
        self.given: deque[int] = deque()
        self.ready = False

    def give(self, number: int, path: str) -> None:
        """Let it verify a file after those that it has."""
        self.given.append(number)
        with suppress(OSError):  # it has died: the next `take` says so
            self.connection.send(path)

    def take(self) -> Checked | None:
        """What it reports next; None: it is ready to begin. Raises EOFError if it has died."""
        try:
            message: Checked | None = self.connection.recv()
        except OSError as error:
            raise EOFError from error
        self.ready = True
        return message

    def end(self) -> str:
        """End the process, wherever it is; how it ended."""
        self.connection.close()
        self.process.join(0.5)  # one that died has a status of its own
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        status = self.process.exitcode or 0
        self.process.close()
        return _ending(status)


def _work(connection: Connection, terms: Terms) -> None:
    """The work of a process: a path comes, what came of it goes. Ends when the other side does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, OSError):
        connection.send(None)
        while True:
            connection.send(_check_whatever(connection.recv(), terms))


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Ctrl-C reaches every process of a terminal; those that are started meanwhile never act on it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _share(paths: Sequence[str], terms: Terms, jobs: int) -> Generator[Checked]:
    """Hand out the files, a few ahead, and put the reports into their order."""
    again: deque[int] = deque()  # files that a dead process had before it
    done: dict[int, Checked] = {}
    handed = passed = 0
    workers: list[_Worker] = []
    try:
        workers += [_Worker(terms) for _ in range(min(jobs, len(paths)))]
        while passed < len(paths):
            while again or handed < min(len(paths), passed + _WINDOW):
                worker = min(workers, key=lambda each: len(each.given))
                if len(worker.given) >= _AHEAD:
                    break
                number = again.popleft() if again else handed
                handed = max(handed, number + 1)
                worker.give(number, paths[number])
            for worker in _speaking(workers):
                try:
                    report = worker.take()
                    if report is not None:
                        done[worker.given.popleft()] = report
                except EOFError:
                    workers.remove(worker)
                    why = worker.end()
                    if worker.given:
                        number = worker.given.popleft()
                        told = f"the process that verified it died ({why}): perhaps there was too little memory"
                        done[number] = Checked(paths[number], UNUSABLE, unusable=told)
                    again.extendleft(reversed(worker.given))
                    if not worker.ready:
                        raise Failure(f"a process for verifying ended at once ({why}); try --jobs 1") from None
                    workers.append(_Worker(terms))
            while passed in done:
                yield done.pop(passed)
                passed += 1
    finally:
        for worker in workers:
            worker.process.kill()  # it holds nothing that would be lost, and leaving by itself takes longer
        for worker in workers:
            worker.end()


def _speaking(workers: Sequence[_Worker]) -> list[_Worker]:
    """Those that have something to say, or have died; waits for the first."""
    spoken = wait([worker.connection for worker in workers])
    return [worker for worker in workers if worker.connection in spoken]


def _ending(status: int) -> str:
    """How a process ended, in words; a negative status is a signal."""
    try:
        return f"exit status {status}" if status >= 0 else signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
