"""`sixledger dispute`: one page, and the same as JSON, for every verdict and every game."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sixledger.cli.demo import change_one_bit
from sixledger.cli.dispute import boards
from sixledger.cli.dispute.case import open_case
from sixledger.cli.dispute.facts import facts
from sixledger.cli.dispute.page import page
from sixledger.cli.receipts import Receipts
from sixledger.engine.nimmt import GAME as NIMMT
from sixledger.engine.registry import installed
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.ledger import file
from sixledger.ledger.heads import HeadSigner
from sixledger.ledger.readable import dumps
from sixledger.v1 import record_pb2
from support.command_line import CommandLine
from support.forging import body_of, editing, forgery, sign_again
from support.key_lives import A, B, key_list, listed
from support.ledgers import (
    COMMIT_REVEAL,
    KEYS,
    OTHER_SIGNER,
    SIGNER,
    Table,
    copies,
    find,
    forge,
    head,
    heads,
    private_key,
    rechain,
)

SEATS = frozenset(range(2))
ELEMENTS_WITHOUT_END = {"meta", "br", "link", "img", "input"}


@pytest.fixture(scope="module")
def table() -> Table:
    """A finished match of three: seats 0 and 1 sign and contribute, seat 2 does neither."""
    return Table(3, mode=COMMIT_REVEAL, signing=SEATS, contributing=SEATS, name="dispute").play()


@pytest.fixture(scope="module")
def running() -> Table:
    """A match in its first round."""
    return Table(3, mode=COMMIT_REVEAL, signing=SEATS, contributing=SEATS, name="running").play(11)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "server.vkey"
    path.write_text(f"{SIGNER.verifier_key}\n")
    return path


class Outline(HTMLParser):
    """What a page is made of. Complains about what is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.levels: list[int] = []
        self.links: list[str] = []
        self.headers: list[dict[str, str | None]] = []
        self.tags: set[str] = set()
        self.ids: set[str] = set()
        self.words = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        assert not any(name.startswith("on") for name in given), given
        self.links += [str(given[name]) for name in ("href", "src", "action", "poster", "data") if name in given]
        if "id" in given:
            assert given["id"] not in self.ids
            self.ids.add(str(given["id"]))
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))
        if tag == "th":
            self.headers.append(given)
        if tag not in ELEMENTS_WITHOUT_END:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.open):
            self.words += data


def well_made(text: str) -> Outline:
    """The outline of a page, after checking that it stands alone and can be read by everybody."""
    outline = Outline(text)
    assert outline.tags.isdisjoint({"script", "link", "img", "iframe", "object", "embed", "form", "base"})
    assert all(link.startswith("#") and link[1:] in outline.ids for link in outline.links)
    assert "url(" not in text
    assert "@import" not in text
    assert "default-src 'none'" in text
    assert outline.levels[0] == 1
    assert outline.levels.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(outline.levels, outline.levels[1:], strict=False))
    assert all(given.get("scope") in ("row", "col") for given in outline.headers)
    return outline


def run(quick: CommandLine, folder: Path, data: bytes, *arguments: str | Path) -> tuple[int, dict[str, Any], Outline]:
    """The report of a ledger: exit status, JSON, page."""
    (folder / "match.ledger.jsonl").write_bytes(data)
    ran = quick("dispute", "match.ledger.jsonl", *arguments, "-o", "report.html", "--json")
    assert ran.err == ""
    found: dict[str, Any] = json.loads(ran.out)
    assert ran.status == found["exit_status"]
    return ran.status, found, well_made((folder / "report.html").read_text(encoding="utf-8"))


# -- every verdict -------------------------------------------------------------------------------


def _moved_card(body: Any) -> None:
    placed = next(each for each in body.events if each.nimmt.WhichOneof("event") == "card_placed")
    placed.nimmt.card_placed.row = (placed.nimmt.card_placed.row + 1) % 4


def _another_seed(body: Any) -> None:
    next(step for step in body.lifecycle if step.HasField("sealed")).sealed.entropy = bytes(32)


def _signed(records: list[record_pb2.Record]) -> bytes:
    return file.dump(records, heads(records), KEYS)


def _forged_signature(body: Any) -> None:
    body.cause.signature = bytes(64)


def _step(table: Table, name: str, skip: int = 0) -> int:
    """The first record, after `skip` others, with such a step in the life of the match."""
    bodies = [record_pb2.Body.FromString(record.body) for record in table.records]
    return [seq for seq, body in enumerate(bodies) if any(step.WhichOneof("step") == name for step in body.lifecycle)][
        skip
    ]


def _played_twice(table: Table) -> list[record_pb2.Record]:
    seq = next(
        seq for seq, record in enumerate(table.records) if record_pb2.Body.FromString(record.body).cause.decision
    )
    return rechain([*table.records[: seq + 1], table.records[seq], *table.records[seq + 1 :]])


def _without_opening(data: bytes) -> bytes:
    lines = data.split(b"\n")
    at = next(number for number, line in enumerate(lines) if b'"openings":[{' in line)
    record = json.loads(lines[at])
    del record["openings"][0]
    lines[at] = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    return b"\n".join(lines)


def _unknown(body: Any) -> None:
    body.lifecycle[0].opened.ruleset.version = 77


def _unknown_file(table: Table) -> bytes:
    """The ledger with a ruleset that nobody has, as its author would write it."""
    forged = forge(table.records, 0, _unknown)
    lines = table.file().replace(b'"version":1}', b'"version":77}').split(b"\n")
    from base64 import b64encode

    for seq, record in enumerate(forged):
        old = table.records[seq]
        for mine, theirs in ((old.body, record.body), (old.hash, record.hash)):
            lines[seq + 1] = lines[seq + 1].replace(b64encode(mine), b64encode(theirs))
        for seal, other in zip(old.seals, record.seals, strict=True):
            lines[seq + 1] = lines[seq + 1].replace(b64encode(seal.commitment), b64encode(other.commitment))
    head_at = len(forged) + 1
    lines[head_at] = json.dumps({"head": heads(forged)[0]}, separators=(",", ":"), ensure_ascii=False).encode()
    return b"\n".join(lines)


VERDICTS: dict[str, tuple[Callable[[Table], bytes], str]] = {
    "VALID": (lambda table: table.file(20), "exactly as recorded"),
    "TAMPERED": (lambda table: change_one_bit(table.file(20)), "changed after the match was played"),
    "TAMPERED copy": (lambda table: table.file(20).replace(b'"seat":1', b'"seat":2', 1), "readable part"),
    "TRUNCATED": (lambda table: table.file(20)[:-40], "not whole"),
    "BAD_SIGNATURE": (
        lambda table: _signed(forge(table.records, _step(table, "joined", 1), _forged_signature)),
        "put into a player's mouth",
    ),
    "BAD_SIGNATURE heads": (
        lambda table: file.dump(table.records, heads(table.records, signer=OTHER_SIGNER), [OTHER_SIGNER.verifier_key]),
        "not signed by the server that you trust",
    ),
    "BAD_OPENING": (lambda table: _without_opening(table.file(20)), "not shown as they were sealed"),
    "SEED_MISMATCH": (
        lambda table: _signed(forge(table.records, _step(table, "sealed"), _another_seed)),
        "not dealt as promised",
    ),
    "ILLEGAL_COMMAND": (lambda table: _signed(_played_twice(table)), "rules do not allow"),
    "RULES_DIVERGENCE": (
        lambda table: _signed(forge(table.records, find(table.records, "card_placed", skip=3), _moved_card)),
        "not what the rules give",
    ),
    "UNKNOWN_RULESET": (_unknown_file, "does not know the rules"),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_the_verdict_comes_first_and_in_plain_words(
    quick: CommandLine, tmp_path: Path, table: Table, key: Path, name: str
) -> None:
    make, words = VERDICTS[name]
    status, found, outline = run(quick, tmp_path, make(table), "--key", key)
    verdict = name.split(maxsplit=1)[0]
    assert found["verdict"]["name"] == found["report"]["verdict"] == verdict
    assert status == (0 if verdict == "VALID" else 1)
    assert words in found["verdict"]["title"]
    at = outline.words.index(found["verdict"]["title"])
    assert at < outline.words.index(found["verdict"]["meaning"]) < outline.words.index("Who signed what")
    assert (found["bad_record"] is None) == (verdict == "VALID")
    for difference in found["report"]["finding"]["differences"] if found["report"]["finding"] else []:
        assert difference["recorded"] in outline.words
        assert difference["expected"] in outline.words


def test_an_unknown_signer_is_said_at_once(quick: CommandLine, tmp_path: Path, table: Table) -> None:
    status, found, _ = run(quick, tmp_path, table.file(20))
    assert (status, found["verdict"]["tone"]) == (0, "unsure")
    assert "nobody you trust vouches" in found["verdict"]["title"]


def test_a_running_match_shows_its_viewer_s_hand_and_no_other(
    quick: CommandLine, tmp_path: Path, running: Table, key: Path
) -> None:
    status, found, outline = run(quick, tmp_path, running.file(viewer="seat:1"), "--key", key)
    assert (status, found["verdict"]["name"]) == (1, "INCOMPLETE")
    assert [hand["name"] for hand in found["table"]["hands"]] == ["Seat 1"]
    own = running.match.game.view(running.match.state, 1)
    shown = {card["face"] for card in found["table"]["hands"][0]["cards"]}
    assert {str(card) for card in own.seats[1].hand} <= shown
    assert "Made forseat 1" in outline.words.replace("\n", "")
    _, found, _ = run(quick, tmp_path, running.file(viewer="spectator"), "--key", key)
    assert found["table"]["hands"] == []
    _, found, _ = run(quick, tmp_path, running.file(viewer="operator"), "--key", key)
    assert len(found["table"]["hands"]) == 3


# -- what it tells -------------------------------------------------------------------------------


def test_the_table_is_the_one_before_the_first_bad_record(
    quick: CommandLine, tmp_path: Path, table: Table, key: Path
) -> None:
    """Rows as cards, what the record says and what the rules give side by side, and what led up to it."""
    seq = find(table.records, "card_placed", skip=3)
    _, found, outline = run(quick, tmp_path, _signed(forge(table.records, seq, _moved_card)), "--key", key)
    assert found["bad_record"]["seq"] == seq
    assert found["table"]["after"] == seq - 1
    view = table.matches[seq - 1].game.view(table.matches[seq - 1].state, None)
    rows = [[card["face"] for card in pile["cards"]] for pile in found["table"]["board"]["piles"][:4]]
    assert rows == [[str(card) for card in row.cards] for row in view.rows]
    assert found["bad_record"]["claimed"] != found["bad_record"]["recomputed"]
    assert found["bad_record"]["claimed"]
    assert found["bad_record"]["recomputed"]
    assert "What the rules give" in outline.words
    assert [each["seq"] for each in found["story"]][-1] == seq - 1
    assert f"Record {seq} is the first that cannot be believed." in outline.words


def test_who_signed_what(quick: CommandLine, tmp_path: Path, table: Table, key: Path) -> None:
    """Every record of a seat is counted once, under its key or as unsigned."""
    _, found, outline = run(quick, tmp_path, table.file(20), "--key", key)
    seats = found["seats"]
    assert [each["holder"] for each in seats] == ["signs with its own key"] * 2 + ["does not sign"]
    assert seats[0]["signed"] > 3
    assert (seats[2]["signed"], seats[2]["unsigned"] > 3, seats[2]["key_id"]) == (0, True, "")
    of_seats = sum(each["signed"] + each["sealed"] + each["unsigned"] + each["timer"] for each in seats)
    other = found["other_acts"]
    assert of_seats + other["table"] + other["timers"] == other["covered"] == len(table.records)
    assert [each["contribution"] for each in seats] == ["in the deal", "in the deal", "none"]
    assert "Seat 2 does not sign: the server could have made up its moves." in found["unchecked"]
    assert seats[0]["key_id"] in outline.words


def test_hosted_bots_and_timers_are_named(quick: CommandLine, tmp_path: Path, key: Path) -> None:
    clock = record_pb2.Clock(turn_us=1_000_000_000)
    table = Table(2, name="hosted", clock=clock, policy=record_pb2.TIMEOUT_POLICY_FIRST_LEGAL)
    table.join(0)
    table.join(1, hosted=True)
    table.play(4)
    table.fire()
    _, found, _ = run(quick, tmp_path, table.file(viewer="operator"), "--key", key)
    assert [each["holder"] for each in found["seats"]] == ["does not sign", "a bot of the server"]
    assert sum(each["timer"] for each in found["seats"]) == 1
    assert any("played by the server itself" in each for each in found["unchecked"])


def test_receipts_prove_truncation(quick: CommandLine, tmp_path: Path, table: Table, key: Path) -> None:
    short = table.records[:20]
    (tmp_path / "kept.head").write_text(head(table.records, 15) + "\n" + head(table.records, 30))
    data = file.dump(short, heads(short), KEYS, viewer="spectator")
    status, found, outline = run(quick, tmp_path, data, "--key", key, "--receipt", "kept.head")
    assert (status, found["verdict"]["name"]) == (1, "TRUNCATED")
    assert [(each["count"], each["tone"]) for each in found["heads"]] == [(15, "good"), (30, "bad")]
    assert "record 20 is missing" in outline.words
    assert found["signer"]["trusted_last"] is True
    assert "--receipt kept.head" in outline.words


def test_receipts_prove_equivocation(quick: CommandLine, tmp_path: Path, table: Table, key: Path) -> None:
    forged = forge(table.records, 10, lambda body: setattr(body, "time_us", body.time_us + 1))
    (tmp_path / "kept.head").write_text(head(table.records, 20))
    _, found, outline = run(quick, tmp_path, _signed(forged), "--key", key, "--receipt", "kept.head")
    assert found["verdict"]["name"] == "EQUIVOCATION"
    assert "That is proven" in outline.words
    assert "contradicts the ledger" in outline.words


def test_another_export_is_held_against_it(quick: CommandLine, tmp_path: Path, table: Table, key: Path) -> None:
    """A ledger that is valid by itself is not the whole story."""
    seq = find(table.records, "card_placed", skip=3)
    (tmp_path / "yours.jsonl").write_bytes(_signed(forge(table.records, seq, _moved_card)))
    status, found, outline = run(quick, tmp_path, table.file(20), "--key", key, "--export", "yours.jsonl")
    assert (status, found["verdict"]["name"], found["comparison"]["seq"]) == (1, "VALID", seq)
    assert "FRAUD PROVEN" in outline.words
    assert "The other account disagrees." in outline.words
    (tmp_path / "same.jsonl").write_bytes(table.file())
    status, found, outline = run(quick, tmp_path, table.file(20), "--key", key, "--export", "same.jsonl")
    assert (status, found["comparison"]["relation"]) == (0, "same")


def test_a_changed_file_betrays_what_stood_there(quick: CommandLine, tmp_path: Path, table: Table, key: Path) -> None:
    """Whoever changes a record and forgets its readable copy shows what was there before."""
    from base64 import b64encode

    seq = find(table.records, "card_placed", skip=3)
    changed = record_pb2.Body.FromString(table.records[seq].body)
    _moved_card(changed)
    old, new = b64encode(table.records[seq].body), b64encode(changed.SerializeToString(deterministic=True))
    _, found, outline = run(quick, tmp_path, table.file(20).replace(old, new), "--key", key)
    (was,) = found["bad_record"]["readable"]
    assert was["path"].endswith("card_placed.row")
    assert was["copy"] != was["record"]
    assert [each["path"] for each in found["bad_record"]["differences"]] == ["hash"]
    assert "What probably stood there before" in outline.words


# -- every game ----------------------------------------------------------------------------------


def _tables() -> Iterator[Any]:
    for game in installed().offered():
        for name, preset in game.presets.items():
            yield pytest.param(game, preset.options, id=f"{game.id} {name}")
    for variant in nimmt_pb2.Variant.values()[2:]:
        name = nimmt_pb2.Variant.Name(variant).removeprefix("VARIANT_").lower()
        yield pytest.param(NIMMT, nimmt_pb2.Options(variant=variant), id=f"nimmt {name}")


@pytest.mark.parametrize(("game", "options"), list(_tables()))
def test_every_game_and_variant_has_a_page(tmp_path: Path, game: Any, options: Any) -> None:
    """Before the start, in the middle and at the end, for a seat and for the operator."""
    seats = max(game.min_seats, 3) if game.max_seats >= 3 else game.min_seats
    table = Table(seats, game.complete(seats, options).options, game=game, name=f"page {game.id}")
    for commands, viewer in ((0, "spectator"), (9, "seat:1"), (30, "operator")):
        if commands:
            table.play(commands)
        path = tmp_path / f"{commands}.jsonl"
        path.write_bytes(table.file(viewer=viewer))
        case = open_case(path, KEYS, Receipts())
        found = facts(case, [])
        outline = well_made(page(found))
        assert found["match"]["game"] == game.title
        assert found["table"]["begun"] == bool(commands)
        assert json.dumps(found)
        if commands and not table.match.over:
            assert all(len(row) == len(found["table"]["board"]["columns"]) for row in found["table"]["board"]["seats"])
            assert "Seat 0" in outline.words


def test_a_game_without_a_board_of_its_own_is_shown_by_its_fields(
    tmp_path: Path, running: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boards, "_OWN", frozenset())
    path = tmp_path / "match.jsonl"
    path.write_bytes(running.file(viewer="seat:1"))
    found = facts(open_case(path, KEYS, Receipts()), [])
    well_made(page(found))
    names = [name for name, _ in found["table"]["board"]["facts"]]
    assert "rows 0 · cards" in names
    assert not any(name.startswith("legal") for name in names)


# -- hostile input -------------------------------------------------------------------------------


def test_nothing_in_a_ledger_becomes_markup(quick: CommandLine, tmp_path: Path, table: Table) -> None:
    """Origin, file names, values, rules: all of it is text."""
    evil = "<script>alert(1)</script>"
    signer = HeadSigner(evil, private_key("evil"))
    name = '<img src=x onerror=alert(1)>&".jsonl'
    (tmp_path / name).write_bytes(file.dump(table.records, heads(table.records, signer=signer), [signer.verifier_key]))
    (tmp_path / "x.head").write_text(head(table.records, 20, signer=signer))
    other = Table(3, mode=COMMIT_REVEAL, signing=SEATS, contributing=SEATS, name="dispute").play(5)
    forged = forge(other.records, len(other.records) - 1, lambda body: setattr(body, "time_us", body.time_us + 1))
    (tmp_path / "<b>other").write_bytes(
        file.dump(forged, heads(forged, signer=signer), [signer.verifier_key], viewer="spectator")
    )
    ran = quick("dispute", name, "--receipt", "x.head", "--export", "<b>other", "-o", "report.html")
    assert ran.status == 1
    text = (tmp_path / "report.html").read_text()
    outline = well_made(text)
    assert "<script" not in text
    assert "<b>" not in text
    assert evil in outline.words
    assert name in outline.words
    assert "b" not in outline.tags


def test_hostile_rules_and_values_are_text(quick: CommandLine, tmp_path: Path, table: Table) -> None:
    """A ruleset with a name that is markup, in a file that its author signed."""
    data = _unknown_file(table)
    (tmp_path / "match.jsonl").write_bytes(data.replace(b'"viewer":"spectator"', b'"viewer":"<u>spectator</u>"'))
    ran = quick("dispute", "match.jsonl", "-o", "report.html")
    assert ran.status == 1
    well_made((tmp_path / "report.html").read_text())
    assert "<u>" not in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("seed", range(12))
def test_whatever_a_ledger_holds_there_is_a_page(tmp_path: Path, table: Table, running: Table, seed: int) -> None:
    """Bytes changed at random, lines dropped, and forgeries that make sense and are signed."""
    rng = Random(seed)
    path = tmp_path / "match.jsonl"
    played = table if seed % 4 < 2 else running
    if seed % 2:
        forged = forgery(rng, played.records)
        path.write_bytes(_force(played, forged))
    else:
        data = bytearray(played.file(20 if played is table else 9, viewer="operator"))
        for _ in range(rng.choice((1, 3))):
            data[rng.randrange(60, len(data))] = rng.randrange(32, 127)
        lines = bytes(data).split(b"\n")
        del lines[rng.randrange(1, len(lines)) if seed % 3 else len(lines) : rng.choice((len(lines), 5))]
        path.write_bytes(b"\n".join(lines))
    found = facts(open_case(path, KEYS, Receipts()), ["sixledger verify match.jsonl"])
    well_made(page(found))
    assert found["verdict"]["name"] != "UNSPECIFIED"


def _force(table: Table, forged: list[record_pb2.Record]) -> bytes:
    """The file of records that no honest writer would write: line by line into the file of the honest ones."""
    lines = table.file(viewer="operator").split(b"\n")
    for seq, record in enumerate(forged):
        shown = json.loads(lines[seq + 1])["shown"]
        lines[seq + 1] = file.record_line(record, shown).encode()
    lines[len(table.records) + 1] = dumps({"head": head(forged, len(forged))}).encode()
    return b"\n".join(lines)


# -- the command line ----------------------------------------------------------------------------


def test_without_a_name_the_report_is_named_like_the_ledger(quick: CommandLine, tmp_path: Path, table: Table) -> None:
    (tmp_path / "m.ledger.jsonl").write_bytes(table.file())
    ran = quick("dispute", "m.ledger.jsonl")
    assert (ran.status, ran.err) == (0, "")
    assert "m.dispute.html" in ran.out
    first = (tmp_path / "m.dispute.html").read_bytes()
    assert quick("dispute", "m.ledger.jsonl").status == 0
    assert (tmp_path / "m.dispute.html").read_bytes() == first  # the same files give the same report
    (tmp_path / "m.dispute.html").unlink()
    assert quick("dispute", "m.ledger.jsonl", "--json").status == 0
    assert not (tmp_path / "m.dispute.html").exists()


def test_a_signed_move_in_the_wrong_place_is_not_called_forged(quick: CommandLine, tmp_path: Path, key: Path) -> None:
    """The signature is the player's: the page must not say that the player did not make the move."""
    table = Table(2, mode=COMMIT_REVEAL, signing=SEATS, contributing=SEATS, name="stale").play()
    records = copies(table.records)
    seq = next(n for n, each in reversed(list(enumerate(records))) if body_of(each).command)
    seat, command = body_of(records[seq]).cause.seat, body_of(records[seq]).command
    if records[seq].openings:
        command = record_pb2.SealedCommand.FromString(records[seq].openings[0].value).command
    with editing(records[seq]) as body:
        body.cause.observed_head = records[2].hash
    sign_again(records[seq], table.key(seat), command)
    records = rechain(records)
    _, found, _ = run(quick, tmp_path, file.dump(records, heads(records), KEYS), "--key", key)
    assert (found["verdict"]["name"], found["bad_record"]["seq"]) == ("BAD_SIGNATURE", seq)
    assert found["verdict"]["title"] == "A move stands where its player did not make it."
    assert "did not make this move" not in found["verdict"]["answerable"]


def test_a_clock_that_ran_backwards_is_not_called_a_change_of_the_file(
    quick: CommandLine, tmp_path: Path, table: Table, key: Path
) -> None:
    """Every fingerprint fits: it was written like this."""

    def change(body: record_pb2.Body) -> None:
        body.time_us -= 1_000_000

    records = forge(table.records, 20, change)
    _, found, _ = run(quick, tmp_path, file.dump(records, heads(records), KEYS), "--key", key)
    assert (found["verdict"]["name"], found["bad_record"]["layer"]) == ("TAMPERED", "clocks")
    assert found["verdict"]["title"] == "This ledger records something that cannot have happened."


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the file system allows no such names")
def test_a_file_whose_name_is_no_text_gets_its_page(quick: CommandLine, tmp_path: Path, table: Table) -> None:
    name = os.fsdecode(b"m\xff\x1b[2K.ledger.jsonl")
    Path(tmp_path / name).write_bytes(table.file())
    ran = quick("dispute", name, "-o", "report.html")
    assert ran.status == 0
    assert ran.out.startswith(" VALID  m??[2K.ledger.jsonl  ")
    well_made((tmp_path / "report.html").read_text())


def test_what_cannot_be_used_is_refused(quick: CommandLine, tmp_path: Path, table: Table, running: Table) -> None:
    (tmp_path / "m.jsonl").write_bytes(table.file())
    (tmp_path / "text").write_text("hello\n")
    (tmp_path / "other.head").write_text(head(running.records, 3))
    assert "no ledger" in quick("dispute", "text").refused(2)
    assert "missing" in quick("dispute", "missing").refused(2)
    assert "no folder" in quick("dispute", "m.jsonl", "-o", "nowhere/report.html").refused(2)
    assert "the ledger itself" in quick("dispute", "m.jsonl", "-o", "m.jsonl").refused(2)
    assert "held against nothing" in quick("dispute", "m.jsonl", "--receipt", "other.head").refused(2)
    assert "text" in quick("dispute", "m.jsonl", "--export", "text").refused(2)


def test_the_commands_of_the_report_give_the_same_result(
    quick: CommandLine, tmp_path: Path, table: Table, key: Path
) -> None:
    import shlex

    _, found, _ = run(quick, tmp_path, change_one_bit(table.file(20)), "--key", key)
    commands = [shlex.split(line) for line in found["commands"]]
    verify = next(words for words in commands if words[:2] == ["sixledger", "verify"])
    assert quick(*verify[1:]).out.startswith(" TAMPERED ")
    again = next(words for words in commands if words[:2] == ["sixledger", "dispute"])
    before = (tmp_path / "report.html").read_bytes()
    quick(*again[1:])
    assert (tmp_path / "report.html").read_bytes() == before


def test_a_key_list_of_the_own_store_is_part_of_the_commands(quick: CommandLine, tmp_path: Path, table: Table) -> None:
    """Without it the stolen key would count again: whoever checks the report has no such store."""
    import shlex
    import subprocess

    stolen = key_list(listed("A", revoked=0), listed("B"))
    (tmp_path / "published.keys").write_text(stolen.note)
    assert quick("keys", "trust", str(B.verifier_key)).status == 0
    assert quick("keys", "trust", "published.keys").status == 0
    data = file.dump(table.records, heads(table.records, signer=A), [A.verifier_key])
    _, found, _ = run(quick, tmp_path, data)
    assert "had been stolen" in found["verdict"]["title"]
    before = (tmp_path / "report.html").read_bytes()
    assert quick("keys", "forget", stolen.content.origin).status == 0
    for line in found["commands"][2:]:
        if line.startswith("printf"):
            subprocess.run(["sh", "-c", line], cwd=tmp_path, check=True)
        elif " verify " in line or " dispute " in line:
            ran = quick(*shlex.split(line)[1:])
            assert (ran.status, "BAD SIGNATURE" in ran.out.replace("_", " ")) == (1, True)
    assert (tmp_path / "report.html").read_bytes() == before
