"""The quick ways of author and verifier come to what the thorough ways come to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest
from sixledger.engine.errors import EngineError
from sixledger.engine.forces import GAME as FORCES
from sixledger.engine.game import Game
from sixledger.engine.nimmt import GAME as NIMMT
from sixledger.engine.piece import GAME as PIECE
from sixledger.ledger import hashing, keys, viewers
from sixledger.ledger.author import Author
from sixledger.ledger.decide import decide
from sixledger.ledger.faults import Refused
from sixledger.ledger.verify import verify_records
from sixledger.ledger.verify.accept import accepted
from sixledger.ledger.verify.subject import Subject
from sixledger.v1 import record_pb2
from support import ledgers
from support.ledgers import COMMIT_REVEAL, KEYS, START_US, Table

SECOND = 1_000_000
EVERYBODY = frozenset(range(3))


def options_of(game: Game[Any]) -> Any:
    return next(iter(game.presets.values())).options


def timed_out() -> Table:
    """A match in which a timer plays for seats, and the table pauses."""
    clock, policy = record_pb2.Clock(turn_us=SECOND), record_pb2.TIMEOUT_POLICY_FIRST_LEGAL
    table = Table(immediate=True, clock=clock, policy=policy, name="timed out", at=0).play(3)
    table.fire()
    table.at = table.match.time_us - START_US
    table.pause()
    table.resume()
    return table.play()


def resigned() -> Table:
    table = Table(4, ledgers.rounds(2), name="resigned").play(50)
    table.resign(2)
    return table


#: Matches of all games and of every kind of record.
MATCHES: dict[str, Callable[[], Table]] = {
    "unsigned": lambda: Table(5, ledgers.rounds(2), immediate=True, name="one pass").play(),
    "signed": lambda: Table(3, ledgers.rounds(2), signing=EVERYBODY, name="one pass, signed").play(),
    "contributed": lambda: Table(3, mode=COMMIT_REVEAL, signing=frozenset({1}), contributing=EVERYBODY).play(),
    "forces": lambda: Table(3, options_of(FORCES), game=FORCES, signing=EVERYBODY).play(),
    "piece": lambda: Table(2, options_of(PIECE), game=PIECE).play(),
    "running": lambda: Table(3, ledgers.rounds(3), signing=EVERYBODY, name="running").play(70),
    "timed out": timed_out,
    "resigned": resigned,
}


@pytest.fixture(scope="module", params=MATCHES)
def table(request: pytest.FixtureRequest) -> Table:
    return MATCHES[request.param]()


def views(table: Table) -> list[list[record_pb2.Record]]:
    """The ledger as the operator has it, a seat, and a spectator."""
    revealed = table.match.revealed
    names = (viewers.OPERATOR, viewers.seat_name(1), viewers.SPECTATOR)
    return [viewers.redact_all(table.records, name, revealed) for name in names]


def test_what_one_pass_accepts_the_layers_accept_with_the_same_report(table: Table) -> None:
    for records in views(table):
        quick = verify_records(records, ledgers.heads(records), trusted=KEYS)
        with mock.patch("sixledger.ledger.verify.verifier.accepted", return_value=None):
            thorough = verify_records(records, ledgers.heads(records), trusted=KEYS)
        assert quick == thorough


def test_one_pass_is_enough_for_every_good_ledger(table: Table) -> None:
    """Else it would only be slow, and nobody would notice."""
    for records in views(table):
        assert accepted(Subject(records)) is not None


@pytest.mark.parametrize("name", ["unsigned", "signed", "forces", "piece"])
def test_ordinary_commands_go_the_quick_way(name: str) -> None:
    subject = Subject(MATCHES[name]().records)
    assert accepted(subject) is not None
    thorough = [body for body in subject.bodies if not body.command]
    assert len(subject.parts) == len(thorough), "only these have parts"


@pytest.mark.parametrize("name", MATCHES)
def test_the_author_makes_the_records_that_decide_makes(name: str) -> None:
    with mock.patch.object(Author, "act", autospec=True, side_effect=Author.act) as act:
        table = MATCHES[name]()
    author = table.author
    for (_, before, action), record in zip([call.args for call in act.call_args_list], table.records[1:], strict=True):
        draft = decide(before, action, author.seeds)
        assert draft.seal(author._salt_key).message == record
        after, again = author.act(before, action)
        assert again.SerializeToString(deterministic=True) == record.SerializeToString(deterministic=True)
        assert after.seeds.known == draft.after.seeds.known
        assert replace(after, seeds=draft.after.seeds) == draft.after


@pytest.mark.parametrize("signs", [True, False])
@pytest.mark.parametrize(
    "change",
    [
        {"decision": 99},
        {"seat": 7},
        {"request_id": b"short"},
        {"signature": bytes(64)},
        {"signature": b"", "key_id": b"", "observed_head": b""},
        {"key_id": b"notitskey"},
        {"observed_head": bytes(32)},
        {"kind": record_pb2.CAUSE_KIND_TABLE},
        {"kind": record_pb2.CAUSE_KIND_TIMER},
    ],
)
def test_the_author_refuses_what_decide_refuses(change: dict[str, Any], signs: bool) -> None:
    table = Table(3, signing=EVERYBODY if signs else frozenset(), name="refusing").play(4)
    seat = table.match.to_act[0]
    action = table.command(seat, NIMMT.legal(table.match.state, seat)[0])
    for name, value in change.items():
        setattr(action.cause, name, value)
    before = table.match.copy()
    outcomes = [outcome(lambda: decide(before, action, table.author.seeds).seal(table.author._salt_key).message)]
    outcomes.append(outcome(lambda: table.author.act(table.match, action)[1]))
    assert outcomes[0] == outcomes[1]
    assert table.match == before


def outcome(made: Callable[[], record_pb2.Record]) -> str:
    """The record, or the error in words."""
    try:
        return made().SerializeToString(deterministic=True).hex()
    except (EngineError, Refused) as error:
        return repr(error)


def claim(*, true: bool = True) -> keys.Claim:
    key = ledgers.private_key("claim")
    return keys.Claim(keys.public_bytes(key), key.sign(b"message"), b"message" if true else b"another")


def verify_all(claims: list[keys.Claim]) -> None:
    waiting = keys.Claims()
    for each in claims:
        waiting.add(each)
    waiting.verify()


@pytest.mark.parametrize("processors", [1, 2, 4])
@pytest.mark.parametrize("at", [0, 20, 99, 600])
def test_one_false_claim_among_many_is_found(processors: int, at: int) -> None:
    claims = [claim(true=number != at) for number in range(max(100, at + 7))]
    with mock.patch.object(keys, "_processors", return_value=processors), pytest.raises(keys.Untrue):
        verify_all(claims)


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 100, 1100])
def test_claims_that_are_all_true_are_all_verified(count: int) -> None:
    with mock.patch.object(keys, "verify", side_effect=keys.verify) as verify:
        verify_all([claim()] * count)
    assert verify.call_count == count


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_claim_that_could_not_be_verified_is_not_true() -> None:
    """Whatever goes wrong in a thread: nothing passes for verified that was not."""
    with mock.patch.object(keys, "verify", side_effect=MemoryError), pytest.raises((keys.Untrue, MemoryError)):
        verify_all([claim()] * 100)


def test_a_false_claim_is_not_forgotten() -> None:
    claims = keys.Claims()
    claims.add(claim(true=False))
    for _ in range(2):
        with pytest.raises(keys.Untrue):
            claims.verify()


def test_claims_are_verified_even_where_no_thread_can_be_started() -> None:
    claims = [claim()] * 100
    with (
        mock.patch.object(keys, "_processors", return_value=4),
        mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")),
        mock.patch.object(keys, "verify", side_effect=keys.verify) as verify,
    ):
        verify_all(claims)
        with pytest.raises(keys.Untrue):
            verify_all([*claims, claim(true=False)])
    assert verify.call_count == 201


def test_no_thread_outlives_the_verification() -> None:
    before = threading.active_count()
    with mock.patch.object(keys, "_processors", return_value=4):
        verify_all([claim()] * 100)
        with pytest.raises(keys.Untrue):
            verify_all([claim(true=False)] * 100)
    assert threading.active_count() == before


def test_the_salt_of_each_secret_of_a_record_is_its_own() -> None:
    salts = {hashing.salt(b"k" * 32, b"p" * 32, 7, hashing.u16(index), b"value") for index in range(300)}
    assert len(salts) == 300


def test_a_claim_does_not_show_what_was_signed() -> None:
    """Its message has the digest of a command: of a hidden card that is enough to try all cards."""
    claim = keys.Claim(b"k" * 32, b"s" * 64, b"what was signed")
    assert repr(claim) == f"Claim(public_key={(b'k' * 32).hex()})"
