"""A lying server and lying players: every attack is caught by the named layer, or the threat model names it."""

from __future__ import annotations

import pytest
from adversary.attacks import ATTACKS, Limit
from adversary.attempts import ATTEMPTS, Attempt, Strength, ledger
from adversary.scenes import scene, scenes
from adversary.second import disagreements, node, second_opinions
from adversary.suite import GOOD, MODULES, PAGE, TRUST, known_limits, outcome, page
from sixledger.ledger.verify import verify
from sixledger.v1.replay_service_pb2 import Verdict
from support.ledgers import KEYS


@pytest.mark.parametrize("name", scenes())
def test_what_is_attacked_is_honest(name: str) -> None:
    """Else every attack on it would be caught for nothing."""
    where = scene(name)
    report = verify(ledger(where, where.records(), where.table.heads()), trusted=KEYS)
    expected = "INCOMPLETE" if name == "running" else "VALID"
    assert Verdict.Name(report.verdict) == f"VERDICT_{expected}", report.summary


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.id)
def test_the_verifier_names_layer_and_record(attempt: Attempt) -> None:
    assert outcome(attempt).gap == ""


def test_every_attack_is_forged() -> None:
    assert set(ATTACKS) == {attempt.slug for attempt in ATTEMPTS}
    assert len({attempt.id for attempt in ATTEMPTS}) == len(ATTEMPTS)


def test_attacks_are_forged_where_they_belong() -> None:
    """But for those beyond any proof, which stand where their kind is."""
    names = {module.__name__.rpartition(".")[2] for module in MODULES}
    assert {attack.topic for attack in ATTACKS.values()} == names | {"beyond"}


@pytest.mark.parametrize("slug", [slug for slug, attack in ATTACKS.items() if attack.topic != "beyond"])
def test_what_is_not_beyond_proof_is_caught_somehow(slug: str) -> None:
    found = {outcome(attempt).found[0] for attempt in ATTEMPTS if attempt.slug == slug}
    noted = any(outcome(attempt).evidence.noted for attempt in ATTEMPTS if attempt.slug == slug)
    assert found - set(GOOD) or noted


def test_a_kept_head_is_worth_something() -> None:
    """Every variation that somebody holds against a head is proof against its signer, or shows what is missing.

    A claimed theft can disown the head itself: then what is attacked is honest.
    """
    kept = [each for each in ATTEMPTS if each.strength is Strength.RECEIPT and not outcome(each).evidence.honest]
    found = {outcome(each).found[0] for each in kept}
    assert found == {"EQUIVOCATION", "TRUNCATED", "TAMPERED"}


@pytest.mark.parametrize("limit", list(Limit))
def test_the_threat_model_names_every_limit(limit: Limit) -> None:
    """Under a heading of its own: its sentences say what to do."""
    assert limit in known_limits(), f"{TRUST.name} has no heading {{#limit-{limit}}}"


def test_no_limit_is_named_for_nothing() -> None:
    assert {attempt.limit for attempt in ATTEMPTS} - {None} == set(Limit)


def test_a_second_verifier_refuses_the_same() -> None:
    """One way of each adversary to try each attack; `make adversary` lets it judge all."""
    if node() is None:
        pytest.skip("needs Node")
    chosen = {(attempt.slug, attempt.strength): attempt for attempt in ATTEMPTS}.values()
    verdicts = second_opinions(list(chosen))
    assert len(verdicts) > 200
    assert list(disagreements(verdicts)) == []


def test_the_page_is_current() -> None:
    """`make adversary ARGS=--update` writes it."""
    assert PAGE.read_text() == page()
