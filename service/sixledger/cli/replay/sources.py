"""What can be replayed: ledger files and matches on a server. Both are verified before they are shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sixledger.cli.failures import INVALID, OK, Failure, one_line, unusable
from sixledger.cli.remote import names_of
from sixledger.cli.render.report import verdict_name, verdict_style
from sixledger.cli.replay.course import ALL_HANDS, Course, Eyes
from sixledger.cli.replay.words import eyes_name
from sixledger.cli.verify import trusted_for
from sixledger.client import Client, ClientError, Credentials, Recorded, ServerCheated, WatchedMatch
from sixledger.client.errors import Closed
from sixledger.ledger import file, viewers
from sixledger.ledger.faults import LedgerFault, UnusableInput
from sixledger.ledger.key_list import Trust
from sixledger.ledger.verify import exit_status, verify, verify_records
from sixledger.v1 import match_service_pb2, record_pb2, replay_service_pb2


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the checks say, for the header: a word, whether it is good, unsure or bad, and a few words more."""

    word: str
    style: str
    text: str
    #: Why the course ends where it does though there is more; empty if all of it is here.
    cut: str = ""

    @property
    def status(self) -> int:
        """Exit status."""
        return INVALID if self.style == "bad" else OK


@dataclass(frozen=True, slots=True)
class Update:
    """News of a live match."""

    record: record_pb2.Record | None = field(default=None, repr=False)
    #: Earlier records that are open further now.
    opened: tuple[tuple[int, record_pb2.Record], ...] = field(default=(), repr=False)
    names: list[str] | None = None
    judgement: Judgement | None = None


@dataclass(slots=True)
class Replay:
    """What is replayed."""

    title: str
    names: list[str]
    course: Course
    judgement: Judgement
    #: Through whose eyes it is shown at first.
    eyes: Eyes = field(default_factory=Eyes)
    #: Present while the match may grow.
    live: Live | None = None

    def choose(self, seat: int | None, *, everything: bool) -> None:
        """Take these eyes from the start. Raises Failure if the ledger does not hold what they saw."""
        if seat is None and not everything:
            return
        if seat is not None and everything:
            raise unusable("give --seat or --all, not both")
        if seat is not None and not 0 <= seat < self.course.seats:
            raise unusable(f"there is no seat {seat}; the seats are 0 to {self.course.seats - 1}")
        eyes = ALL_HANDS if everything else Eyes(seat)
        last = len(self.course) - 1
        if not self.course.sees(eyes, last):
            known = [Eyes(), *(Eyes(number) for number in range(self.course.seats))]
            names = "; ".join(eyes_name(each, self.names) for each in known if self.course.sees(each, last))
            raise Failure(f"{eyes_name(eyes, self.names)}: sealed in this ledger; it can be seen as {names}")
        self.eyes = eyes

    def take(self, update: Update) -> bool:
        """Take news of a live match; True if the course has grown."""
        if update.names is not None:
            self.names[: len(update.names)] = update.names
        if update.judgement is not None:
            self.judgement = update.judgement
        self.course.reopen(update.opened)
        return update.record is not None and self.course.extend([update.record]) > 0


# -- files ---------------------------------------------------------------------------------------


def open_file(path: Path, keys: Sequence[Trust] | None) -> Replay:
    """A ledger file, verified; of a bad one the records before the first bad one. Raises Failure."""
    try:
        ledger, broken = file.load_prefix(path)
        trusted = list(keys) if keys is not None else trusted_for(ledger.origin)
        report = verify(path, trusted=trusted)
    except UnusableInput as error:
        raise unusable(f"{path}: {one_line(str(error))}") from None
    except LedgerFault as fault:
        raise Failure(f"{path}: not even the header can be read: {one_line(fault.message)}") from None
    good = _good(report, len(ledger.records))
    if broken is not None and ledger.records:
        # The verifier saw no record of a file whose form is wrong: what was read before is verified on its own.
        notes = [signed.note for signed in ledger.heads]
        good = _good(verify_records(ledger.records, notes, keys=ledger.keys, trusted=trusted), len(ledger.records))
    course = Course(ledger.records[:good])
    if not len(course):
        raise Failure(f"{path}: no record can be shown: {one_line(report.summary)}")
    replay = Replay(path.name, _seat_names(course), course, _judge(report, good))
    try:
        seat = viewers.parse(ledger.viewer)
    except ValueError:
        seat = None
    if seat is not None and seat < course.seats:
        replay.eyes = Eyes(seat)
    return replay


def _seat_names(course: Course) -> list[str]:
    """A name for every seat that the match was opened with; there may be fewer in the end."""
    return [f"Seat {seat}" for seat in range(course.at(0).match.opened.seats)]


def _good(report: replay_service_pb2.VerifyReport, count: int) -> int:
    """How many records from the first on are right."""
    if exit_status(report, partial=True) == OK:
        return count
    return report.last_good.seq + 1 if report.HasField("last_good") else 0


def _judge(report: replay_service_pb2.VerifyReport, good: int) -> Judgement:
    word = verdict_name(report.verdict)
    summary = one_line(report.summary).removeprefix(f"{word}: ").removeprefix(f"{word} at ")
    if exit_status(report, partial=True) == OK:
        return Judgement(word, verdict_style(report), summary)
    cut = f"{summary[:1].upper()}{summary[1:]}. Record {good - 1} is the last good one: nothing after it is shown."
    return Judgement(word, "bad", f"the first {good} records are good", cut)


# -- live matches --------------------------------------------------------------------------------


class Live:
    """A match on a server that may still grow. `updates` blocks; `close` ends it from another thread."""

    def __init__(self, client: Client, table: WatchedMatch, match_id: bytes) -> None:
        """`table` follows the match."""
        self._client = client
        self._table = table
        self._match_id = match_id

    def updates(self, first_seq: int) -> Iterator[Update]:
        """News from record `first_seq` on, until the match or the trust in the server ends, or `close`."""
        try:
            for item in self._table.watch(first_seq):
                if isinstance(item, Recorded):
                    yield self._recorded(item)
                elif isinstance(item, match_service_pb2.WatchEnded):
                    yield Update(judgement=judge_live(self._table))
        except Closed:
            return
        except ClientError as error:
            yield Update(judgement=_distrust(error, len(self._table.records)))

    def _recorded(self, item: Recorded) -> Update:
        held = self._table.records if item.opened else ()
        opened = tuple((seq, held[seq].record) for seq, _ in item.opened)
        joined = any(step.HasField("joined") for step in item.body.lifecycle)
        return Update(item.record, opened, names_of(self._client, self._match_id) if joined else None)

    def close(self) -> None:
        """Stop following. Harmless when repeated."""
        self._table.close()


def open_live(client: Client, match_id: bytes, credentials: Credentials | None) -> Replay:
    """A match on a server as it is now, every record checked. Raises Failure, or what the client raises."""
    matches = client.matches
    table = matches.resume(credentials) if credentials is not None else matches.watch_match(match_id)
    try:
        table.refresh()
        course = Course(recorded.record for recorded in table.records)
    except BaseException:
        table.close()
        raise
    live = Live(client, table, match_id)
    eyes = Eyes(credentials.seat) if credentials is not None else Eyes()
    title = f"{match_id.hex()[:12]}…"
    replay = Replay(title, _seat_names(course), course, judge_live(table), eyes, live)
    replay.take(Update(names=names_of(client, match_id)))
    return replay


def judge_live(table: WatchedMatch) -> Judgement:
    """What the checks say of a match on a server: while it runs those of each record, then the verifier."""
    if not table.over:
        return Judgement("CHECKED", "good", "live, each record checked as it arrives")
    try:
        report = table.verify()
    except ClientError as error:
        return _distrust(error, len(table.records))
    return Judgement(verdict_name(report.verdict), verdict_style(report), one_line(report.summary).partition(": ")[2])


def _distrust(error: ClientError, count: int) -> Judgement:
    if isinstance(error, ServerCheated):
        word = replay_service_pb2.Verdict.Name(error.verdict).removeprefix("VERDICT_")
        cut = f"The server must not be believed: {one_line(str(error))}. Nothing after record {count - 1} is shown."
        return Judgement(word, "bad", f"the first {count} records are good", cut)
    return Judgement("CHECKED", "unsure", f"cut off: {one_line(str(error))}")
