"""Honest clients against a lying server, during play: what they could know they notice, and go no further."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from adversary.attacks import ATTACKS
from adversary.attempts import ATTEMPTS, Attempt, Strength
from adversary.live import BENT, LIES, LIVE, Bent, Told
from adversary.scenes import BOTH, scene
from sixledger.client import errors
from sixledger.client.credentials import Credentials
from sixledger.ledger import verify
from sixledger.ledger.faults import LedgerFault, UnusableInput
from sixledger.ledger.file import load
from sixledger.ledger.heads import SignedHead
from sixledger.v1 import record_pb2, replay_service_pb2
from support.ledgers import COMMIT_REVEAL, KEYS, SIGNER, Table, rounds
from support.lying import Heard, Response, head, honest, listen, told, viewers

WHOLE = ("base", "nifty", "forces", "piece", "unsigned", "withheld")
for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
    if not module.name.startswith("test_"):
        importlib.import_module(f"adversary.{module.name}")


def forged() -> list[Attempt]:
    """Whole ledgers that the server itself makes, alone or with a seat: each once, the games taking turns."""
    ways: dict[tuple[str, str], list[Attempt]] = {}
    for attempt in ATTEMPTS:
        of_server = attempt.strength in (Strength.SERVER, Strength.COLLUDING) and attempt.limit is None
        if of_server and attempt.scene in WHOLE and not LIVE[attempt.slug].startswith("nothing"):
            ways.setdefault((attempt.slug, attempt.name), []).append(attempt)
    return [each[number % len(each)] for number, each in enumerate(ways.values())]


def secrets_of(where: Table, viewer: int | None) -> list[bytes]:
    """What no message may show: keys, contributions, tokens and sealed values."""
    clients = [honest(where, seat).credentials for seat in range(len(where.match.seats))]
    found = [held for made in clients if made for held in (made.private_key, made.secret) if held]
    return found + [opening.value for record in where.records for opening in record.openings if len(opening.value) > 8]


def check_refusal(where: Table, heard: Heard) -> None:
    """After a lie the client takes nothing more, keeps what it believed, shows no secret and holds the evidence."""
    client, lie = heard.client, heard.lie
    assert isinstance(lie, errors.ServerCheated)
    with pytest.raises(type(lie)):
        client.view()
    with pytest.raises(errors.ServerCheated):
        client.head(head(where.records, 1))
    shown = f"{lie} {lie!r} {lie.evidence!r} {lie.differences}"
    for held in secrets_of(where, client.viewer):
        assert held.hex() not in shown
        assert repr(held)[2:-1] not in shown
    evidence = lie.evidence
    assert evidence is not None
    assert client.evidence is evidence
    assert (evidence.error, evidence.seq) == (type(lie).__name__, lie.seq)
    assert [record.hash for record in evidence.records] == [each.record.hash for each in client.received]
    if evidence.records and not isinstance(lie, errors.RulesBroken | errors.SeedMismatch):
        report = verify.verify_records(
            evidence.records,
            [note for count, note in evidence.heads.items() if count <= len(evidence.records)],
            trusted=KEYS,
        )
        assert report.verdict in (replay_service_pb2.VERDICT_INCOMPLETE, replay_service_pb2.VERDICT_VALID)


def hear(where: Table, viewer: int | None, stream: Sequence[Response], notes: Sequence[str] = ()) -> Heard:
    """What an honest client makes of a stream. The thorough way through what is opened late says the same of it."""
    heard, client = listen(honest(where, viewer), stream, notes), honest(where, viewer)
    client._openings._quick = False
    thorough = listen(client, stream, notes)
    assert repr(heard.lie) == repr(thorough.lie)
    assert heard.at == thorough.at
    if isinstance(heard.lie, errors.ServerCheated) and isinstance(thorough.lie, errors.ServerCheated):
        mine, other = heard.lie, thorough.lie
        assert (mine.seq, mine.layer, mine.differences) == (other.seq, other.layer, other.differences)
    assert heard.client.received == client.received
    return heard


@pytest.mark.parametrize("name", WHOLE)
def test_every_honest_client_believes_an_honest_server(name: str) -> None:
    """All games and variants, with clocks, pauses and bots of the server: nothing is taken for a lie."""
    where = scene(name).table
    for viewer in viewers(where):
        if viewer is not None and where.match.seats[viewer].withheld:
            continue  # it gave its contribution, and is told that it did not
        heard = hear(where, viewer, told(where.records, viewer))
        assert heard.lie is None, (viewer, heard.lie)
        assert heard.client.match.over
        assert heard.client.replayed == len(where.records)
        assert heard.client._openings._quick


def test_live_says_something_about_every_attack_and_nothing_else() -> None:
    assert set(LIVE) == set(ATTACKS)


def test_whatever_is_not_noticed_has_a_reason_that_is_no_oversight() -> None:
    """Files are not shown during play; the rest are the limits of any proof, which have attempts that say so."""
    limited = {attempt.slug for attempt in ATTEMPTS if attempt.limit is not None}
    for slug, words in LIVE.items():
        if words.startswith("nothing"):
            assert ATTACKS[slug].topic == "files" or slug in limited, slug


# -- whole ledgers that the server forged --------------------------------------------------------


@pytest.mark.parametrize("attempt", forged(), ids=lambda attempt: attempt.id)
def test_a_forged_history_is_not_believed_by_every_honest_client(attempt: Attempt) -> None:
    """Re-chained and signed with the server's key. The seats that are not in it have signed over what they saw."""
    evidence = attempt.make()
    try:
        file = load(evidence.data)
    except (LedgerFault, UnusableInput):
        assert ATTACKS[attempt.slug].topic != "deals"
        return  # the form of a file: nothing like it is on the wire
    where = scene(attempt.scene).table
    if record_pb2.Body.FromString(file.records[0].body).match_id != where.match.match_id:
        return  # a match of its own
    notes = [*(signed.note for signed in file.heads), *evidence.receipts]
    noticed = []
    for viewer in viewers(where):
        heard = hear(where, viewer, told(file.records, viewer), notes)
        if heard.lie is not None:
            assert type(heard.lie).__name__ in LIVE[attempt.slug], heard.lie
            noticed.append(heard)
    assert noticed, "every honest client believes it"
    if isinstance(noticed[0].lie, errors.ServerCheated):
        check_refusal(where, noticed[0])


# -- what only a stream can tell -----------------------------------------------------------------


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.id)
def test_a_lie_in_the_stream_is_noticed_when_it_is_told(lie: Told) -> None:
    where = scene(lie.scene)
    stream = told(where.table.records, lie.viewer)
    at = lie.tell(where, stream)
    heard = hear(where.table, lie.viewer, stream)
    assert type(heard.lie) is lie.wrong, heard.lie
    assert lie.says in str(heard.lie)
    assert heard.at == at
    check_refusal(where.table, heard)


# -- what is consistent and signed by all --------------------------------------------------------


def played_crookedly(bent: Bent) -> tuple[Table, list[int]]:
    """A match of two rounds in a crooked game, and the records that lie."""
    lying: list[int] = []

    def lie() -> int:
        lying.append(len(table.records))
        return len(lying)

    table = Table(
        options=rounds(2),
        mode=COMMIT_REVEAL,
        signing=BOTH,
        contributing=BOTH,
        name="adversary crooked",
        game=bent.make(lie),
    )
    return table.play(), lying


@pytest.mark.parametrize("bent", BENT, ids=lambda bent: f"{bent.slug}-{bent.name}")
def test_a_server_that_bends_the_rules_is_caught_when_the_round_is_revealed(bent: Bent) -> None:
    """All have signed over it, and no chain shows it: the round played again from its seed does."""
    table, lying = played_crookedly(bent)
    first = lying[0] if lying else next(seq for seq, each in enumerate(table.matches) if each.state is not None)
    revealing = next(
        seq for seq in range(first, len(table.records)) if table.matches[seq].revealed > _epoch(table, first)
    )
    for viewer in viewers(table):
        heard = hear(table, viewer, told(table.records, viewer))
        assert type(heard.lie) is bent.wrong, heard.lie
        assert isinstance(heard.lie, errors.ServerCheated)
        assert heard.lie.seq == first
        assert heard.at == revealing
        check_refusal(table, heard)


def _epoch(table: Table, seq: int) -> int:
    """The epochs that are revealed before what record `seq` does can be told."""
    return table.matches[seq - 1].revealed


# -- two stories ---------------------------------------------------------------------------------


def test_two_seats_that_were_told_two_stories_prove_it_with_their_heads(tmp_path: Path) -> None:
    """Each story is good for itself, until somebody compares."""
    stories = []
    for name in ("adversary one", "adversary two"):
        table = Table(options=rounds(1), name="adversary stories")
        table.start()
        table.rng.seed(name)
        stories.append(table.play(6))
    heads = []
    for seat, table in enumerate(stories):
        heard = listen(honest(table, seat), told(table.records, seat))
        assert heard.lie is None
        heads.append(heard.client.receipts.latest)
    client = honest(stories[0], 0)
    assert listen(client, told(stories[0].records, 0)).lie is None
    with pytest.raises(errors.Equivocation) as caught:
        client.head(heads[1])
    assert caught.value.notes == (heads[0], heads[1])
    evidence = caught.value.evidence
    assert evidence is not None
    folder = evidence.save(tmp_path / "proof")
    names = sorted(path.name for path in folder.iterdir())
    count = len(stories[0].records)
    assert names == ["believed.ledger.jsonl", "evidence.json", *sorted(_receipts(count))]
    one, two = (SignedHead.parse((folder / f"head-{count}{end}.txt").read_text()) for end in ("", "-2"))
    assert one.signed_by(SIGNER.verifier_key)
    assert two.signed_by(SIGNER.verifier_key)
    assert one.head.hash != two.head.hash
    good = verify.verify(folder / "believed.ledger.jsonl", trusted=KEYS)
    assert good.verdict == replay_service_pb2.VERDICT_INCOMPLETE
    bad = verify.verify(folder / "believed.ledger.jsonl", trusted=KEYS, receipts=[two.note])
    assert bad.verdict == replay_service_pb2.VERDICT_EQUIVOCATION
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.iterdir())


def _receipts(count: int) -> list[str]:
    return [f"head-{number}.txt" for number in range(1, count + 1)] + [f"head-{count}-2.txt"]


def test_evidence_without_any_head_is_saved_too(tmp_path: Path) -> None:
    where = scene("base")
    stream = told(where.table.records, 0)
    for item in stream:
        item.record.head = ""
    heard = listen(honest(where.table, 0), [*stream[:5], stream[7]])
    assert isinstance(heard.lie, errors.BrokenStream)
    assert heard.lie.evidence is not None
    assert heard.lie.evidence.last_head == ""
    folder = heard.lie.evidence.save(tmp_path)
    assert [path.name for path in folder.iterdir()] == ["evidence.json"]
    made = honest(where.table, 0).credentials
    assert isinstance(made, Credentials)
    assert made.token not in (folder / "evidence.json").read_text().split('"')
