"""What every store must do: a class of tests that a subclass runs on its own `store` fixture."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace

import pytest
from sixledger.service.store import (
    MAX_RECORD_BYTES,
    ApiKeyRow,
    Appended,
    Cursor,
    Due,
    Entry,
    MatchRow,
    RequestTaken,
    SeqTaken,
    Store,
    StoreError,
    TokenFloor,
)

OPEN, RUNNING = 1, 2
SEAT, TIMER = 1, 2


def new_row(*, game: str = "nimmt", status: int = OPEN, created_us: int = 1_700_000_000_000_000) -> MatchRow:
    """The row of a match that no store has."""
    return MatchRow(os.urandom(16), game, 5, created_us, os.urandom(32), status, joined=0)


def new_entry(match_id: bytes, seq: int, record: bytes | None = None) -> Entry:
    """A record that differs from all others, under an idempotency key of its own."""
    body = os.urandom(40) if record is None else record
    return Entry(match_id, seq, body, kind=SEAT, seat=2, request_id=os.urandom(16))


async def new_match(store: Store, records: int = 1, row: MatchRow | None = None) -> tuple[MatchRow, list[Entry]]:
    """Create a match with its first `records` records."""
    row = row or new_row()
    entries = [new_entry(row.match_id, seq) for seq in range(records)]
    assert await store.create(row, entries[0])
    for entry in entries[1:]:
        assert await store.append(entry) == Appended()
    return row, entries


class StoreContract:
    """Subclass it as `TestXyz(StoreContract)` with a fixture `store` that yields an open store."""

    async def test_a_created_match_has_its_row_and_record_0(self, store: Store) -> None:
        row, (first,) = await new_match(store)
        assert await store.match(row.match_id) == row
        assert await store.records(row.match_id, 0, 10) == [first.record]

    async def test_a_match_is_created_once(self, store: Store) -> None:
        row, (first,) = await new_match(store)
        other = replace(row, game="other", root_secret=os.urandom(32))
        assert await store.create(other, new_entry(row.match_id, 0)) is False
        assert await store.match(row.match_id) == row
        assert await store.records(row.match_id, 0, 10) == [first.record]

    async def test_one_of_many_concurrent_creations_of_a_match_wins(self, store: Store) -> None:
        row = new_row()
        firsts = [new_entry(row.match_id, 0) for _ in range(10)]
        won = await asyncio.gather(*(store.create(row, first) for first in firsts))
        assert sum(won) == 1
        assert await store.records(row.match_id, 0, 10) == [firsts[won.index(True)].record]

    async def test_what_was_never_created_is_not_there(self, store: Store) -> None:
        unknown = os.urandom(16)
        assert await store.match(unknown) is None
        assert await store.records(unknown, 0, 10) == []
        assert await store.find_request(unknown, SEAT, 0, os.urandom(16)) is None
        assert await store.display_names(unknown) == {}
        assert await store.append(new_entry(unknown, 1)) == SeqTaken()
        assert await store.match(unknown) is None

    async def test_records_are_appended_in_order(self, store: Store) -> None:
        row, entries = await new_match(store, records=5)
        assert await store.records(row.match_id, 0, 10) == [entry.record for entry in entries]

    async def test_a_gap_is_refused(self, store: Store) -> None:
        row, _ = await new_match(store)
        assert await store.append(new_entry(row.match_id, 2)) == SeqTaken()
        assert await store.append(new_entry(row.match_id, 1)) == Appended()
        assert await store.append(new_entry(row.match_id, 2**32 - 1)) == SeqTaken()

    async def test_a_number_is_taken_once(self, store: Store) -> None:
        row, entries = await new_match(store, records=2)
        assert await store.append(new_entry(row.match_id, 1)) == SeqTaken()
        assert await store.records(row.match_id, 0, 10) == [entry.record for entry in entries]

    async def test_a_refused_append_leaves_its_request_id_free(self, store: Store) -> None:
        row, _ = await new_match(store, records=2)
        refused = new_entry(row.match_id, 1)
        assert await store.append(refused) == SeqTaken()
        assert await store.find_request(row.match_id, SEAT, 2, refused.request_id) is None
        assert await store.append(replace(refused, seq=2)) == Appended()

    @pytest.mark.parametrize("seq", [1, 3, 7], ids=["its own number", "the next number", "a gap"])
    async def test_a_request_id_is_used_once_whatever_number_the_record_has(self, store: Store, seq: int) -> None:
        row, entries = await new_match(store, records=3)
        again = replace(new_entry(row.match_id, seq), request_id=entries[1].request_id)
        assert await store.append(again) == RequestTaken(1)
        assert await store.records(row.match_id, 0, 10) == [entry.record for entry in entries]

    async def test_the_request_id_of_record_0_counts(self, store: Store) -> None:
        row, (first,) = await new_match(store)
        assert await store.append(replace(new_entry(row.match_id, 1), request_id=first.request_id)) == RequestTaken(0)

    async def test_a_request_id_belongs_to_its_match_kind_and_seat(self, store: Store) -> None:
        row, (first,) = await new_match(store)
        other, _ = await new_match(store)
        for entry in (
            replace(new_entry(row.match_id, 1), request_id=first.request_id, kind=TIMER),
            replace(new_entry(row.match_id, 2), request_id=first.request_id, seat=3),
            replace(new_entry(other.match_id, 1), request_id=first.request_id),
        ):
            assert await store.append(entry) == Appended()

    async def test_find_request_gives_the_number_of_the_record(self, store: Store) -> None:
        row, entries = await new_match(store, records=3)
        for entry in entries:
            assert await store.find_request(row.match_id, SEAT, 2, entry.request_id) == entry.seq
        assert await store.find_request(row.match_id, TIMER, 2, entries[1].request_id) is None
        assert await store.find_request(row.match_id, SEAT, 3, entries[1].request_id) is None
        assert await store.find_request(row.match_id, SEAT, 2, os.urandom(16)) is None

    async def test_exactly_one_of_many_concurrent_appends_of_a_number_wins(self, store: Store) -> None:
        row, _ = await new_match(store)
        for seq in range(1, 6):
            entries = [new_entry(row.match_id, seq) for _ in range(12)]
            results = await asyncio.gather(*map(store.append, entries))
            assert results.count(Appended()) == 1
            assert results.count(SeqTaken()) == 11
            assert await store.records(row.match_id, seq, 1) == [entries[results.index(Appended())].record]

    async def test_one_command_sent_many_times_at_once_becomes_one_record(self, store: Store) -> None:
        row, _ = await new_match(store)
        entry = new_entry(row.match_id, 1)
        results = await asyncio.gather(*(store.append(entry) for _ in range(10)))
        assert results.count(Appended()) == 1
        assert results.count(RequestTaken(1)) == 9

    async def test_appends_to_one_match_take_effect_in_the_order_of_their_calls(self, store: Store) -> None:
        row, _ = await new_match(store)
        entries = [new_entry(row.match_id, seq) for seq in range(1, 20)]
        assert set(await asyncio.gather(*map(store.append, entries))) == {Appended()}
        assert await store.records(row.match_id, 1, 99) == [entry.record for entry in entries]

    async def test_many_matches_at_once_get_each_its_own_results(self, store: Store) -> None:
        matches = await asyncio.gather(*(new_match(store, records=3) for _ in range(80)))
        entries = []
        expected = []
        for number, (row, old) in enumerate(matches):
            fine = new_entry(row.match_id, 3)
            entry, result = (
                (fine, Appended()),
                (replace(fine, seq=1), SeqTaken()),
                (replace(fine, seq=9), SeqTaken()),
                (replace(fine, request_id=old[number % 3].request_id), RequestTaken(number % 3)),
                (replace(fine, seq=1, request_id=old[number % 3].request_id), RequestTaken(number % 3)),
            )[number % 5]
            entries.append(entry)
            expected.append(result)
        assert await asyncio.gather(*map(store.append, entries)) == expected
        for (row, old), entry, result in zip(matches, entries, expected, strict=True):
            records = [before.record for before in old] + [entry.record] * (result == Appended())
            assert await store.records(row.match_id, 0, 10) == records

    async def test_records_are_read_by_pages(self, store: Store) -> None:
        row, entries = await new_match(store, records=7)
        await new_match(store, records=3)
        expected = [entry.record for entry in entries]
        for first, limit in (
            (0, 3),
            (3, 3),
            (6, 3),
            (7, 3),
            (2, 1),
            (2, 0),
            (0, 7),
            (2**33, 5),
            (2**63 - 1, 2**63 - 1),
        ):
            assert await store.records(row.match_id, first, limit) == expected[first : first + limit]

    async def test_the_row_changes_together_with_the_record(self, store: Store) -> None:
        row, _ = await new_match(store)
        assert await store.append(replace(new_entry(row.match_id, 1), joined=3)) == Appended()
        assert await store.match(row.match_id) == replace(row, joined=3)
        assert await store.append(replace(new_entry(row.match_id, 2), status=RUNNING)) == Appended()
        assert await store.match(row.match_id) == replace(row, joined=3, status=RUNNING)
        assert await store.append(replace(new_entry(row.match_id, 3), status=OPEN, joined=0)) == Appended()
        assert await store.match(row.match_id) == row

    async def test_a_refused_append_does_not_change_the_row(self, store: Store) -> None:
        row, (first,) = await new_match(store)
        change = replace(new_entry(row.match_id, 5), status=RUNNING, joined=4, display_name="Mallory")
        assert await store.append(change) == SeqTaken()
        assert await store.append(replace(change, seq=1, request_id=first.request_id)) == RequestTaken(0)
        assert await store.match(row.match_id) == row
        assert await store.display_names(row.match_id) == {}

    async def test_display_names_are_set_changed_and_erased(self, store: Store) -> None:
        row, _ = await new_match(store)
        for seq, (seat, name, expected) in enumerate(
            (
                (0, "Ada", {0: "Ada"}),
                (3, "Łukasz 🂡", {0: "Ada", 3: "Łukasz 🂡"}),
                (0, "Grace", {0: "Grace", 3: "Łukasz 🂡"}),
                (3, "", {0: "Grace"}),
            ),
            start=1,
        ):
            assert await store.append(replace(new_entry(row.match_id, seq), seat=seat, display_name=name)) == Appended()
            assert await store.display_names(row.match_id) == expected

    async def test_matches_are_listed_newest_first_with_ties_by_id(self, store: Store) -> None:
        rows = [new_row(created_us=when) for when in (30, 10, 20, 20, 20, 40)]
        for row in rows:
            await new_match(store, row=row)
        expected = sorted(rows, key=lambda row: (row.created_us, row.match_id), reverse=True)
        assert list(await store.list_matches(status=None, game=None, after=None, limit=10)) == expected
        assert list(await store.list_matches(status=None, game=None, after=None, limit=0)) == []

    @pytest.mark.parametrize("limit", [1, 2, 5, 100])
    async def test_pages_are_stable_while_matches_are_added(self, store: Store, limit: int) -> None:
        rows = [new_row(created_us=number // 3) for number in range(1, 12)]
        for row in rows:
            await new_match(store, row=row)
        seen: list[MatchRow] = []
        after = None
        while page := await store.list_matches(status=None, game=None, after=after, limit=limit):
            seen += page
            after = Cursor(page[-1].created_us, page[-1].match_id)
            await new_match(store, row=new_row(created_us=100 + len(seen)))
        assert seen == sorted(rows, key=lambda row: (row.created_us, row.match_id), reverse=True)

    @pytest.mark.parametrize("status", [None, OPEN, RUNNING])
    @pytest.mark.parametrize("game", [None, "nimmt", "hearts", "chess"])
    async def test_filters_and_pages_go_together(self, store: Store, status: int | None, game: str | None) -> None:
        rows = [
            new_row(game=("nimmt", "hearts")[number % 2], status=(OPEN, RUNNING)[number // 2 % 2], created_us=number)
            for number in range(12)
        ]
        for row in rows:
            await new_match(store, row=row)
        seen: list[MatchRow] = []
        after = None
        while page := await store.list_matches(status=status, game=game, after=after, limit=2):
            seen += page
            after = Cursor(page[-1].created_us, page[-1].match_id)
        assert seen == [row for row in reversed(rows) if status in (None, row.status) and game in (None, row.game)]

    async def test_a_change_of_status_moves_the_match_between_lists(self, store: Store) -> None:
        row, _ = await new_match(store)
        await store.append(replace(new_entry(row.match_id, 1), status=RUNNING))
        assert not await store.list_matches(status=OPEN, game=None, after=None, limit=9)
        running = await store.list_matches(status=RUNNING, game="nimmt", after=None, limit=9)
        assert list(running) == [replace(row, status=RUNNING)]

    async def test_a_record_may_be_empty_or_large(self, store: Store) -> None:
        row, (first,) = await new_match(store)
        big = os.urandom(1_000_000)
        assert await store.append(new_entry(row.match_id, 1, b"")) == Appended()
        assert await store.append(new_entry(row.match_id, 2, big)) == Appended()
        assert await store.records(row.match_id, 0, 9) == [first.record, b"", big]

    async def test_a_cancelled_append_harms_no_other(self, store: Store) -> None:
        rows = [(await new_match(store))[0] for _ in range(20)]
        entries = [new_entry(row.match_id, 1) for row in rows]
        tasks = [asyncio.create_task(store.append(entry)) for entry in entries]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        await asyncio.wait(tasks)
        assert [task.result() for task in tasks[1::2]] == [Appended()] * 10
        for row, entry in zip(rows, entries, strict=True):
            assert await store.append(entry) in (Appended(), RequestTaken(1))
            assert await store.records(row.match_id, 1, 9) == [entry.record]

    async def test_a_closed_store_raises_store_error(self, store: Store) -> None:
        row, entries = await new_match(store)
        await store.close()
        await store.close()
        for call in (
            store.create(new_row_of := new_row(), new_entry(new_row_of.match_id, 0)),
            store.append(new_entry(row.match_id, 1)),
            store.match(row.match_id),
            store.records(row.match_id, 0, 1),
            store.find_request(row.match_id, SEAT, 2, entries[0].request_id),
            store.display_names(row.match_id),
            store.list_matches(status=None, game=None, after=None, limit=1),
        ):
            with pytest.raises(StoreError, match="not open"):
                await call

    async def test_an_open_store_cannot_be_opened_again(self, store: Store) -> None:
        with pytest.raises(StoreError, match="open already"):
            await store.open()
        await new_match(store)

    async def test_appends_that_wait_are_finished_before_the_store_closes(self, store: Store) -> None:
        row, _ = await new_match(store)
        entries = [new_entry(row.match_id, seq) for seq in range(1, 30)]
        tasks = [asyncio.create_task(store.append(entry)) for entry in entries]
        await asyncio.sleep(0)
        await store.close()
        assert await asyncio.gather(*tasks) == [Appended()] * 29
        await store.open()
        assert await store.records(row.match_id, 1, 99) == [entry.record for entry in entries]
        assert await store.append(new_entry(row.match_id, 30)) == Appended()

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"match_id": b"short"}, "match_id must be 16 bytes, not 5"),
            ({"request_id": b""}, "request_id must be 16 bytes, not 0"),
            ({"seq": 0}, "append begins with record 1"),
            ({"seq": 2**32}, "seq must be between"),
            ({"seat": -1}, "seat must be between"),
            ({"kind": 2**70}, "kind must be between"),
            ({"status": -1}, "status must be between"),
            ({"joined": 2**64}, "joined must be between"),
            ({"display_name": "\ud800"}, "display_name is not valid Unicode"),
            ({"display_name": "a\0b"}, "display_name must not contain NUL"),
            ({"record": bytes(MAX_RECORD_BYTES + 1)}, "a record may have"),
        ],
        ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
    )
    async def test_what_no_store_can_keep_is_refused_and_harms_no_other(
        self, store: Store, change: dict[str, object], message: str
    ) -> None:
        row, (first,) = await new_match(store)
        other, _ = await new_match(store)
        entry = new_entry(row.match_id, 1)
        fields = {name: getattr(entry, name) for name in Entry.__slots__} | change
        bad, good = await asyncio.gather(
            store.append(Entry(**fields)), store.append(new_entry(other.match_id, 1)), return_exceptions=True
        )
        assert isinstance(bad, ValueError)
        assert message in str(bad)
        assert good == Appended()
        assert await store.records(row.match_id, 0, 9) == [first.record]

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"root_secret": b"secret"}, "root_secret must be 32 bytes, not 6"),
            ({"game": "\ud800"}, "game is not valid Unicode"),
            ({"created_us": 2**63}, "created_us must be between"),
            ({"seats": -5}, "seats must be between"),
        ],
        ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
    )
    async def test_a_match_that_no_store_can_keep_is_refused(
        self, store: Store, change: dict[str, object], message: str
    ) -> None:
        row = new_row()
        bad = MatchRow(**{name: getattr(row, name) for name in MatchRow.__slots__} | change)
        with pytest.raises(ValueError, match=message):
            await store.create(bad, new_entry(row.match_id, 0))
        with pytest.raises(ValueError, match="another match"):
            await store.create(row, new_entry(os.urandom(16), 0))
        with pytest.raises(ValueError, match="begins with record 0, not 1"):
            await store.create(row, new_entry(row.match_id, 1))
        assert await store.match(row.match_id) is None

    async def test_pages_out_of_range_are_refused(self, store: Store) -> None:
        for first, limit in ((-1, 1), (0, -1), (2**63, 1)):
            with pytest.raises(ValueError, match="must be between"):
                await store.records(os.urandom(16), first, limit)
        with pytest.raises(ValueError, match="match_id must be 16 bytes"):
            await store.list_matches(status=None, game=None, after=Cursor(0, b""), limit=1)
        with pytest.raises(ValueError, match="match_id must be 16 bytes"):
            await store.match(b"")
        with pytest.raises(ValueError, match="status must be between"):
            await store.list_matches(status=2**70, game=None, after=None, limit=1)
        with pytest.raises(ValueError, match="seat must be between"):
            await store.find_request(os.urandom(16), SEAT, 2**70, os.urandom(16))

    # -- lobby and access --------------------------------------------------------------------------

    async def test_a_row_keeps_who_opened_it_and_for_whom(self, store: Store) -> None:
        old = os.urandom(16)
        row = replace(new_row(), owner="club", private=True, no_spectators=True, rematch_of=old)
        await new_match(store, row=row)
        assert await store.match(row.match_id) == row

    async def test_an_append_changes_seats_and_bots_with_its_record(self, store: Store) -> None:
        row, _ = await new_match(store)
        assert await store.append(replace(new_entry(row.match_id, 1), joined=1, bot="random")) == Appended()
        assert await store.bots(row.match_id) == {2: "random"}
        assert await store.append(replace(new_entry(row.match_id, 2), seat=3, bot="heuristic", seats=4)) == Appended()
        assert await store.append(replace(new_entry(row.match_id, 3), bot="")) == Appended()
        assert await store.bots(row.match_id) == {3: "heuristic"}
        assert await store.match(row.match_id) == replace(row, joined=1, seats=4)
        assert await store.append(replace(new_entry(row.match_id, 3), bot="late")) == SeqTaken()
        assert await store.bots(row.match_id) == {3: "heuristic"}
        assert await store.bots(os.urandom(16)) == {}

    async def test_matches_with_bots_are_found_by_status(self, store: Store) -> None:
        base = 1_800_000_000_000_000
        rows = [new_row(status=status, created_us=base - n) for n, status in enumerate((OPEN, RUNNING, 4))]
        for row in [*rows, new_row()]:
            await new_match(store, row=row)
        for row in rows:
            await store.append(replace(new_entry(row.match_id, 1), bot="random"))
        found = await store.matches_with_bots((OPEN, RUNNING))
        assert [each for each in found if each in {row.match_id for row in rows}] == [
            rows[1].match_id,
            rows[0].match_id,
        ]

    async def test_private_matches_are_listed_for_their_owner_alone(self, store: Store) -> None:
        game, owner = os.urandom(8).hex(), os.urandom(8).hex()
        public, private, other = (
            replace(new_row(game=game, created_us=1_000 + n), owner=name, private=is_private)
            for n, (name, is_private) in enumerate(((owner, False), (owner, True), ("", True)))
        )
        for row in (public, private, other):
            await new_match(store, row=row)

        async def listed(owner: str | None, **filters: bool) -> list[MatchRow]:
            return list(await store.list_matches(status=None, game=game, after=None, limit=9, owner=owner, **filters))

        assert await listed(None) == [public]
        assert await listed(owner) == [private, public]
        assert await listed("") == []
        assert await store.count_matches(owner, (OPEN, RUNNING)) == 2
        assert await store.count_matches(owner, (RUNNING,)) == 0
        await store.append(replace(new_entry(private.match_id, 1), status=RUNNING, joined=5))
        assert await store.count_matches(owner, (RUNNING,)) == 1
        assert await listed(owner, free_seats=True) == [public]

    async def test_deadlines_are_kept_with_the_records_and_listed_by_time(self, store: Store) -> None:
        base = 2**52 + int.from_bytes(os.urandom(3), "big") * 1000  # the store is shared: later than those of others
        rows = [replace(new_row(), next_deadline_us=base + when) for when in (30, 10, 20, 20)]
        for row in [*rows, new_row()]:
            await new_match(store, row=row)

        async def listed() -> list[Due]:
            return list(await store.deadlines(after=Due(base, bytes(16)), limit=9))

        expected = sorted(Due(row.next_deadline_us, row.match_id) for row in rows)
        assert await listed() == expected
        assert list(await store.deadlines(after=expected[0], limit=2)) == expected[1:3]
        moved = replace(new_entry(rows[1].match_id, 1), next_deadline_us=base + 40)
        assert await store.append(moved) == Appended()
        assert (await listed())[-1] == Due(base + 40, rows[1].match_id)
        assert await store.append(new_entry(rows[1].match_id, 2)) == Appended()
        assert await store.match(rows[1].match_id) == replace(rows[1], next_deadline_us=base + 40)
        assert await store.append(replace(new_entry(rows[1].match_id, 3), next_deadline_us=0)) == Appended()
        assert await listed() == expected[1:]
        assert await store.append(replace(new_entry(rows[0].match_id, 7), next_deadline_us=0)) == SeqTaken()
        assert await listed() == expected[1:]
        for row in rows:
            await store.append(replace(new_entry(row.match_id, 1), next_deadline_us=0))
        with pytest.raises(ValueError, match="next_deadline_us must be between"):
            await store.append(replace(new_entry(rows[0].match_id, 9), next_deadline_us=2**63))
        with pytest.raises(ValueError, match="match_id must be 16 bytes"):
            await store.deadlines(after=Due(1, b""), limit=1)

    async def test_floors_of_tokens_only_rise(self, store: Store) -> None:
        row, _ = await new_match(store)
        never = 2**62
        assert store.token_floor(row.match_id, 2) == 0
        assert await store.append(replace(new_entry(row.match_id, 1), floor=TokenFloor(1, never))) == Appended()
        assert store.token_floor(row.match_id, 2) == 1
        await store.raise_floor(row.match_id, 2, TokenFloor(7, never))
        await store.raise_floor(row.match_id, 2, TokenFloor(3, never))
        assert (store.token_floor(row.match_id, 2), store.token_floor(row.match_id, 3)) == (7, 0)
        assert await store.append(replace(new_entry(row.match_id, 1), floor=TokenFloor(9, never))) == SeqTaken()
        assert store.token_floor(row.match_id, 2) == 7
        await store.close()
        await store.open()
        assert store.token_floor(row.match_id, 2) == 7

    async def test_the_kept_form_of_a_secret_is_replaced_if_it_is_as_expected(self, store: Store) -> None:
        row, _ = await new_match(store)
        others = {(await new_match(store))[0].match_id for _ in range(4)}
        found: dict[bytes, bytes] = {}
        after: bytes | None = None
        while page := await store.kept_secrets(after=after, limit=2):
            assert len(page) <= 2
            ids = [each for each, _ in page]
            assert ids == sorted(set(ids) - set(found))
            found |= dict(page)
            after = ids[-1]
        assert {row.match_id} | others <= set(found)
        kept = found[row.match_id]
        assert not await store.replace_secret(row.match_id, os.urandom(len(kept)), os.urandom(32))
        assert not await store.replace_secret(os.urandom(16), kept, kept)
        assert await store.match(row.match_id) == row
        plain = os.urandom(32)
        assert await store.replace_secret(row.match_id, kept, plain)
        assert await store.match(row.match_id) == replace(row, root_secret=plain)
        with pytest.raises(ValueError, match="match_id must be 16 bytes"):
            await store.kept_secrets(after=b"", limit=1)

    async def test_api_keys_are_kept_and_replaced(self, store: Store) -> None:
        first = ApiKeyRow(os.urandom(8).hex(), "club", os.urandom(32), 6, 10, 0, 5, 7, "club")
        second = replace(first, id=os.urandom(8).hex(), created_us=11)
        for row in (second, first):
            await store.put_api_key(row)
        ended = replace(first, expires_us=99)
        await store.put_api_key(ended)
        assert [row for row in await store.api_keys() if row.owner == "club"] == [ended, second]
        assert repr(first.digest) not in repr(first)

    async def test_floors_and_appends_meet_without_harm(self, store: Store) -> None:
        rows = [(await new_match(store))[0] for _ in range(20)]
        appends = [store.append(new_entry(row.match_id, 1)) for row in rows]
        floors = [store.raise_floor(row.match_id, 0, TokenFloor(2, 2**62)) for row in rows]
        assert await asyncio.gather(*appends, *floors) == [Appended()] * 20 + [None] * 20
        assert {store.token_floor(row.match_id, 0) for row in rows} == {2}

    async def test_what_no_store_could_keep_is_refused(self, store: Store) -> None:
        row, _ = await new_match(store)
        with pytest.raises(ValueError, match="generation must be between"):
            await store.raise_floor(row.match_id, 0, TokenFloor(2**16, 0))
        with pytest.raises(ValueError, match="bot must not contain NUL"):
            await store.append(replace(new_entry(row.match_id, 1), bot="\0"))
        with pytest.raises(ValueError, match="digest must be 32 bytes"):
            await store.put_api_key(ApiKeyRow("", "", b"", 0, 0, 0, 0, 0, ""))
        odd = replace(new_row(), rematch_of=b"x")
        with pytest.raises(ValueError, match="rematch_of must be 16 bytes"):
            await store.create(odd, new_entry(odd.match_id, 0))

    async def test_matches_of_some_statuses_are_paged_by_their_ids_private_ones_too(self, store: Store) -> None:
        rows = [replace(new_row(status=number % 3), private=number % 2 == 0) for number in range(9)]
        for row in rows:
            await new_match(store, row=row)
        seen: list[bytes] = []
        while page := await store.match_ids((OPEN, RUNNING), after=seen[-1] if seen else None, limit=4):
            seen += page
        assert seen == sorted(row.match_id for row in rows if row.status in (OPEN, RUNNING))
        assert await store.match_ids((), after=None, limit=4) == []

    @pytest.mark.parametrize(
        ("match", "seat", "name", "kept"),
        [
            (0, None, None, [{}, {0: "Ada", 2: "Bob"}]),
            (0, 2, None, [{0: "Ada"}, {0: "Ada", 2: "Bob"}]),
            (0, 2, "Ada", [{0: "Ada", 2: "Bob"}, {0: "Ada", 2: "Bob"}]),
            (None, None, "Bob", [{0: "Ada"}, {0: "Ada"}]),
            (None, 0, None, [{2: "Bob"}, {2: "Bob"}]),
        ],
    )
    async def test_names_that_fit_are_erased_and_counted(
        self, store: Store, match: int | None, seat: int | None, name: str | None, kept: list[dict[int, str]]
    ) -> None:
        rows = [(await new_match(store))[0] for _ in range(2)]
        for row in rows:
            for seq, (number, text) in enumerate(((0, "Ada"), (2, "Bob")), 1):
                await store.append(replace(new_entry(row.match_id, seq), seat=number, display_name=text))
        match_id = None if match is None else rows[match].match_id
        assert await store.erase_names(match_id, seat, name) == 4 - sum(map(len, kept))
        assert [await store.display_names(row.match_id) for row in rows] == kept
        assert await store.erase_names(match_id, seat, name) == 0

    async def test_names_are_never_erased_by_accident(self, store: Store) -> None:
        with pytest.raises(ValueError, match="say which display names"):
            await store.erase_names(None, None, None)
