"""The checker flags every kind of broken promise, and a short run of real servers under real faults breaks none."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from chaos import history as told
from chaos.checker import Check, check
from chaos.disk import small_disk
from chaos.history import Event, History, read
from chaos.ledgers import Ledger, LedgerRecord, read_ledger
from chaos.nemesis import ON_POSTGRES, ON_SQLITE, plan
from chaos.report import Part, as_json, markdown
from chaos.run import Options, run
from chaos.tables import deals, kinds
from chaos.wire import State, Wire, to_port

MATCH = "aa" * 16


def request(number: int) -> str:
    return f"{number:032x}"


def record(seq: int, *, fork: str = "", by: int | None = None) -> LedgerRecord:
    """Record 0 opens the match; then the seats act in turn, each request numbered like its record."""
    return LedgerRecord(f"hash-{seq}{fork}", request(seq if by is None else by), -1 if seq == 0 else seq % 2)


def ledger(count: int = 6, replica: str = "replica-0") -> Ledger:
    return Ledger(MATCH, replica, [record(seq) for seq in range(count)], "VALID" if replica == "replica-0" else None)


def good() -> tuple[list[Event], list[Ledger]]:
    """A history of a service that kept its word: two seats, a watcher, two replicas."""
    events: list[Event] = []

    def add(what: str, by: str, **values: object) -> None:
        events.append(Event(what, by, time_ns=len(events) + 1, match=MATCH, **values))  # type: ignore[arg-type]

    for seq in range(6):
        act = {"request": request(seq), "act": "command" if seq else "create", "seat": record(seq).seat}
        add(told.INVOKED, f"seat-{act['seat']}", **act)
        add(told.ACKNOWLEDGED, f"seat-{act['seat']}", **act, seq=seq, hash=record(seq).hash)
        add(told.SEEN, "watcher", seq=seq, hash=record(seq).hash)
    add(told.INVOKED, "seat-1", request=request(99), act="command", seat=1)
    add(told.REFUSED, "seat-1", request=request(99), act="command", seat=1, detail="WRONG_PHASE")
    add(told.ENDED, "watcher")
    return events, [ledger(), ledger(replica="replica-1")]


def broken(events: list[Event], ledgers: list[Ledger]) -> set[str]:
    """The first words of the checks that are broken."""
    return {found.name for found in check(events, ledgers) if found.broken}


def where(events: list[Event], what: str, seq: int) -> int:
    return next(at for at, event in enumerate(events) if event.what == what and event.seq == seq)


def test_a_good_history_breaks_nothing_and_every_check_looked_at_something() -> None:
    found = check(*good())
    assert [each.name for each in found if each.broken] == []
    assert all(each.looked_at for each in found)


def lost_acknowledgement(events: list[Event], ledgers: list[Ledger]) -> str:
    """The last command was confirmed to its player, and is in no ledger."""
    for each in ledgers:
        del each.records[-1]
    del events[where(events, told.SEEN, 5)]
    return "every acknowledged act is in its ledger exactly once"


def another_record_than_acknowledged(events: list[Event], ledgers: list[Ledger]) -> str:
    """Its number was given to another one."""
    at = where(events, told.ACKNOWLEDGED, 4)
    events[at] = replace(events[at], seq=2, hash=record(2).hash)
    return "every acknowledged act is in its ledger exactly once"


def doubled(events: list[Event], ledgers: list[Ledger]) -> str:
    """A command that was sent twice was recorded twice."""
    for each in ledgers:
        each.records[5] = record(5, by=3)
    return "no request is in a ledger twice"


def refused_and_recorded(events: list[Event], ledgers: list[Ledger]) -> str:
    """The player was told no, and the command was played."""
    for each in ledgers:
        each.records.append(LedgerRecord("hash-6", request(99), 1))
    return "no refused act is in a ledger"


def invented(events: list[Event], ledgers: list[Ledger]) -> str:
    """A command that no client sent."""
    for each in ledgers:
        each.records.append(LedgerRecord("hash-6", request(7), 0))
    return "every act of a seat in a ledger was asked for"


def forked(events: list[Event], ledgers: list[Ledger]) -> str:
    """The watcher was shown a record that the ledger does not have."""
    at = where(events, told.SEEN, 3)
    events[at] = replace(events[at], hash="hash-3-other")
    return "no ledger forks"


def shown_and_gone(events: list[Event], ledgers: list[Ledger]) -> str:
    """A record was shown that nobody keeps."""
    events.insert(-1, Event(told.SEEN, "other", 1000, MATCH, seq=6, hash="hash-6"))
    return "no ledger forks"


def out_of_order(events: list[Event], ledgers: list[Ledger]) -> str:
    """A command stands before a record that was shown to somebody before the command was made."""
    at = where(events, told.ACKNOWLEDGED, 2) - 1
    assert events[at].what == told.INVOKED
    events[at] = replace(events[at], time_ns=events[where(events, told.SEEN, 4)].time_ns + 1)
    return "no act is recorded before one"


def gap(events: list[Event], ledgers: list[Ledger]) -> str:
    """The watcher was not shown a record."""
    del events[where(events, told.SEEN, 2)]
    return "every watcher saw a gap-free sequence"


def repeated(events: list[Event], ledgers: list[Ledger]) -> str:
    """The watcher was shown a record twice."""
    at = where(events, told.SEEN, 2)
    events.insert(at, events[at])
    return "every watcher saw a gap-free sequence"


def ended_early(events: list[Event], ledgers: list[Ledger]) -> str:
    """The watcher was told the end before it had everything."""
    del events[where(events, told.SEEN, 5)]
    return "every watcher saw a gap-free sequence"


def lied(events: list[Event], ledgers: list[Ledger]) -> str:
    """A client could prove a lie."""
    events.append(Event(told.BROKEN, "seat-0", 1000, MATCH, detail="RewrittenHistory"))
    return "no client met a broken promise"


def gone(events: list[Event], ledgers: list[Ledger]) -> str:
    """A match that was opened does not exist."""
    del ledgers[:]
    return "every match that was opened is there"


def replicas_disagree(events: list[Event], ledgers: list[Ledger]) -> str:
    """Two replicas export different ledgers."""
    ledgers[1].records[4] = record(4, fork="-other")
    return "all replicas export the same ledger"


def replica_behind(events: list[Event], ledgers: list[Ledger]) -> str:
    """A replica exports only the beginning."""
    del ledgers[1].records[-1]
    return "all replicas export the same ledger"


def unverified(events: list[Event], ledgers: list[Ledger]) -> str:
    """Nobody has verified the ledger."""
    ledgers[0].verdict = None
    return "every match has ended by rule"


def unfinished(events: list[Event], ledgers: list[Ledger]) -> str:
    """The match has not ended."""
    ledgers[0].verdict = "INCOMPLETE: 6 records, nothing wrong"
    return "every match has ended by rule"


@pytest.mark.parametrize(
    "spoil",
    [
        lost_acknowledgement,
        another_record_than_acknowledged,
        doubled,
        refused_and_recorded,
        invented,
        forked,
        shown_and_gone,
        out_of_order,
        gap,
        repeated,
        ended_early,
        lied,
        gone,
        replicas_disagree,
        replica_behind,
        unverified,
        unfinished,
    ],
)
def test_the_checker_flags(spoil: Callable[[list[Event], list[Ledger]], str]) -> None:
    events, ledgers = good()
    expected = spoil(events, ledgers)
    assert any(name.startswith(expected) for name in broken(events, ledgers))


def test_a_seat_that_the_service_plays_needs_no_client() -> None:
    events, ledgers = good()
    for each in ledgers:
        each.records.append(LedgerRecord("hash-6", request(7), 0, hosted=True))
    events.insert(-1, Event(told.SEEN, "watcher", 1000, MATCH, seq=6, hash="hash-6"))
    assert broken(events, ledgers) == set()


def test_only_the_first_violations_are_told_and_all_are_counted() -> None:
    made = Check("a check")
    for number in range(50):
        made.of(False, str(number))
    assert (made.broken, made.looked_at, len(made.violations)) == (50, 50, 20)


def test_a_history_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    with History(path) as history:
        history.add(told.INVOKED, "seat-0", match=MATCH, request=request(1), act="command", seat=0, decision=3)
        history.add(told.SEEN, "watcher", match=MATCH, seq=0, hash="00")
    assert list(read(path)) == history.events
    assert len(path.read_text().splitlines()) == 2


def test_an_exported_ledger_is_read_record_by_record() -> None:
    path = Path(__file__).parents[1] / "golden"
    file = next(path.rglob("*.ledger.jsonl"))
    found = read_ledger(file, "here")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(found.records) == sum("body" in line for line in lines)
    assert found.match == lines[0]["match"]
    assert found.records[0].seat == -1


def test_a_plan_follows_from_its_seed_and_has_every_fault() -> None:
    for kinds_ in (ON_POSTGRES, ON_SQLITE):
        made = plan(7, 120, 3, kinds_)
        assert made == plan(7, 120, 3, kinds_)
        assert made != plan(8, 120, 3, kinds_)
        assert {fault.kind for fault in made} == set(kinds_)
        assert all(0 <= fault.at_s < 120 and fault.seconds <= 9 for fault in made)


def test_every_game_and_variant_is_played() -> None:
    names = [kind for _, kind, _, _ in kinds()]
    assert len(names) == len(set(names))
    played = [deal.kind for deal in islice(deals(1), len(names))]
    assert sorted(played) == sorted(names)
    assert {deal.game for deal in islice(deals(1), len(names))} >= {"nimmt", "forces", "piece"}


async def test_a_wire_loses_holds_and_cuts() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while line := await reader.readline():
                writer.write(line.upper())
        writer.transport.abort()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server, Wire(to_port(server.sockets[0].getsockname()[1])) as wire:

        async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
            writer.write(b"hello\n")
            return await asyncio.wait_for(reader.readline(), 0.3)

        async def ended(reader: asyncio.StreamReader) -> bool:
            try:
                return await asyncio.wait_for(reader.readline(), 1) == b""
            except ConnectionError:
                return True

        reader, writer = await asyncio.open_connection("127.0.0.1", wire.port)
        assert await ask(reader, writer) == b"HELLO\n"
        wire.set(State.HELD)
        with pytest.raises(TimeoutError):
            await ask(reader, writer)
        wire.set(State.OPEN)
        assert await asyncio.wait_for(reader.readline(), 1) == b"HELLO\n"
        wire.set(State.LOSSY)
        with pytest.raises(TimeoutError):
            await ask(reader, writer)
        assert wire.lost == 6
        wire.set(State.OPEN)  # a reply is missing: the connection is worth nothing
        assert await ended(reader)
        writer.transport.abort()
        wire.set(State.CUT)
        reader, writer = await asyncio.open_connection("127.0.0.1", wire.port)
        assert await ended(reader)
        writer.transport.abort()


def test_a_run_that_broke_something_or_did_nothing_is_not_good() -> None:
    part = Part("servers", 1, 10.0, "a store", "a small tmpfs", matches=1)
    assert not part.good
    part.checks = [Check("a check", looked_at=3)]
    assert part.good
    part.checks[0].of(False, "record 7 is gone")
    assert not part.good
    assert not as_json([part])["good"]
    assert "* a check: record 7 is gone" in markdown([part])
    part.checks, part.matches = [Check("a check")], 0
    assert not part.good


def test_a_small_disk_fills_and_is_freed(tmp_path: Path) -> None:
    """Where nothing may be mounted it refuses: it would be the disk of the machine."""
    with small_disk(tmp_path / "disk", 1) as disk:
        file = disk.folder / "file"
        if not disk.mounted:
            assert disk.kind == "RLIMIT_FSIZE"
            with pytest.raises(ValueError, match="the disk of the machine"):
                disk.fill()
            return
        disk.fill()
        with pytest.raises(OSError, match="No space left"):
            file.write_bytes(bytes(4096))
        disk.free()
        file.write_bytes(bytes(4096))
    assert not file.exists()


@pytest.mark.parametrize(("store", "seconds"), [("postgres", 6.0), ("sqlite", 5.0)])
async def test_a_short_run_breaks_no_promise(store: str, seconds: float, tmp_path: Path) -> None:
    """`make chaos` runs the same for as long as one likes."""
    options = Options(seconds, seed=20, tables=3, replicas=2, pace_s=0.05, gap_s=1.0, finish_s=60)
    part = await run(store, tmp_path / store, options)
    told_ = markdown([part])
    assert part.good, told_
    assert sum(times for times, _ in part.faults.values()) >= 2
    assert part.commands[told.ACKNOWLEDGED] > 20
    assert as_json([part])["good"]
