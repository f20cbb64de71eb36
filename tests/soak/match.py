"""One soaked match: every invariant after every command, its bounds at the end; now and then as a ledger."""

from __future__ import annotations

import hashlib
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from sixledger.engine.game import ABORTED, FORFEIT, RESIGNED
from sixledger.ledger.verify import verify
from sixledger.v1 import replay_service_pb2
from soak.plan import Case, bounds, case_of
from support import ledgers
from support.matches import Table
from support.traits import traits

#: Of a hundred matches so many are left by somebody, and so many are written as ledgers.
LEFT, WRITTEN = 3, 2
_MODES = (ledgers.COMMIT_REVEAL, ledgers.SEATS, ledgers.SERVER_ONLY)


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a match; `failure` is empty if everything was right."""

    number: int
    kind: str
    case: str
    commands: int = 0
    events: int = 0
    rounds: int = 0
    choices: int = 0
    ledger_bytes: int = 0
    failure: str = field(default="", repr=False)


def soak(number: int, seed: int, folder: Path) -> Played:
    """Play match `number` of the plan of `seed`; a ledger of it may be left in `folder`. Raises nothing."""
    case = case_of(number, seed)
    choices = Random(hashlib.sha256(f"soak/{seed}/{number}".encode()).digest())
    written = choices.randrange(100) < WRITTEN
    try:
        if written:
            return write(case, number, choices, folder)
        return play(case, number, choices)
    except Exception:  # whatever goes wrong is a finding
        return Played(number, case.kind, f"{case.game.id}/{case.name}", failure=traceback.format_exc())


def play(case: Case, number: int, choices: Random) -> Played:
    """Random commands to the end, or until somebody leaves. Raises AssertionError."""
    game, check = case.game, traits(case.game).check
    table = Table(game, case.setup, choices.randrange(1 << 256))
    leaves = choices.randrange(200) if choices.randrange(100) < LEFT else -1
    check(table.position)
    most = 0
    while not table.over:
        if len(table.records) - 1 == leaves:
            reason = choices.choice((RESIGNED, FORFEIT, ABORTED))
            table.leave(reason, None if reason == ABORTED else choices.randrange(case.setup.seats))
            break
        most = max(most, _legal(table))
        table.act(*table.choose(choices))
        check(table.position)
    check(table.position)
    _check_end(table)
    events = sum(len(record.events) for record in table.records)
    result = Played(
        number,
        case.kind,
        f"{game.id}/{case.name}",
        commands=len(table.records) - 1,
        events=events,
        rounds=_rounds(table),
        choices=most,
    )
    _check_bounds(case, result, whole=table.records[-1].command is not None)
    return result


def write(case: Case, number: int, choices: Random, folder: Path) -> Played:
    """The same as a ledger, which is written and verified. Raises AssertionError."""
    seats = frozenset(range(case.setup.seats))
    mode = choices.choice(_MODES)
    contributing = frozenset() if mode == ledgers.SERVER_ONLY else frozenset(s for s in seats if choices.random() < 0.7)
    table = ledgers.Table(
        seats=case.setup.seats,
        options=case.setup.options,
        mode=mode,
        signing=frozenset(s for s in seats if choices.random() < 0.3),
        contributing=contributing,
        name=f"soak {number} {choices.random()}",
        game=case.game,
    )
    table.start()
    while not table.match.over:
        of_table = case.game.table_legal(table.match.state)
        if of_table and choices.random() < 0.05:
            table.act(table.table_command(choices.choice(of_table)))
        else:
            table.play_one()
    path = folder / f"{number:06}-{case.game.id}-{case.name}.ledger.jsonl"
    path.write_bytes(table.file(len(table.records) // 2))
    report = verify(path, trusted=ledgers.KEYS)
    assert report.verdict == replay_service_pb2.VERDICT_VALID, report.summary
    assert report.signer_authenticated
    kind, name = case.kind, f"{case.game.id}/{case.name}"
    size = path.stat().st_size
    commands = sum(match.decision > 0 for match in table.matches) - 1
    return Played(number, kind, name, commands=commands, ledger_bytes=size)


def _legal(table: Table) -> int:
    """The largest set of legal commands; seats that may not act have none."""
    game, state = table.game, table.state
    to_act = game.decision(state).seats
    assert to_act
    assert list(to_act) == sorted(set(to_act))
    sizes = [len(game.legal(state, seat)) for seat in range(table.setup.seats)]
    assert [seat for seat, size in enumerate(sizes) if size] == list(to_act)
    return max(sizes)


def _check_end(table: Table) -> None:
    """What holds of every match that is over."""
    game, setup = table.game, table.setup
    outcome = game.outcome(table.state)
    assert outcome is not None
    assert len(outcome.scores) == setup.seats
    assert len(outcome.ranking) == (0 if outcome.reason == ABORTED else setup.seats)
    assert bool(outcome.winners) == (outcome.reason != ABORTED)
    assert game.decision(table.state).seats == ()
    assert game.epoch(table.state) <= game.epochs(setup)
    for viewer in (None, 0, setup.seats - 1):
        assert game.view(table.fold_for(viewer), viewer) == game.view(table.state, viewer)
    revealed = game.epoch(table.state)
    assert game.position(table.fold_for(None, revealed=revealed)) == table.position


def _rounds(table: Table) -> int:
    """Rounds and deals as they are, of 6piece the turns."""
    turns: int = table.state.turn if table.game.id == "piece" else table.game.epoch(table.state)
    return turns


def _check_bounds(case: Case, found: Played, *, whole: bool) -> None:
    most = bounds(case)
    if most is None:
        return
    assert found.choices <= most.choices, f"{found.choices} legal commands, at most {most.choices} by the rules"
    assert found.rounds <= most.rounds, f"{found.rounds} rounds, at most {most.rounds} by the rules"
    if most.exact and whole:
        assert (found.commands, found.events) == (most.commands, most.events)
    assert found.commands <= most.commands, f"{found.commands} commands, at most {most.commands} by the rules"
    assert found.events <= most.events, f"{found.events} events, at most {most.events} by the rules"


def soak_some(numbers: list[int], seed: int, folder: Path) -> list[Played]:
    """Some matches, in another process."""
    return [soak(number, seed, folder) for number in numbers]
