"""Another game than the one that was agreed on, told afterwards."""

from __future__ import annotations

from typing import Any

from adversary.attempts import Evidence, Records, Strength, Told, lie, signed, story
from adversary.scenes import Scene
from sixledger.engine.registry import installed
from sixledger.v1 import record_pb2
from support.forging import chain, editing
from support.ledgers import SEATS, SERVER_ONLY, secret

GAMES = ("base", "nifty", "forces", "piece")
UNKNOWN = ("UNKNOWN_RULESET", "rules")


def _opened(record: record_pb2.Record, **values: Any) -> int:
    with editing(record) as body:
        for name, value in values.items():
            setattr(body.lifecycle[0].opened, name, value)
    return 0


def _ruleset(record: record_pb2.Record, **values: Any) -> int:
    with editing(record) as body:
        for name, value in values.items():
            setattr(body.lifecycle[0].opened.ruleset, name, value)
    return 0


def _another(where: Scene) -> Any:
    return installed().get("forces" if where.table.game.id == "nimmt" else "nimmt", 1)


@lie("other-ruleset", *UNKNOWN, *GAMES)
def the_name_of_another_game(where: Scene, records: Records) -> int:
    return _ruleset(records[0], id=_another(where).id)


@lie("other-ruleset", "TAMPERED", "rules", *GAMES)
def another_game_with_its_digest(where: Scene, records: Records) -> int:
    """The options are still those of the game that was played."""
    return _ruleset(records[0], id=_another(where).id, digest=_another(where).digest)


@lie("other-ruleset", *UNKNOWN, *GAMES)
def a_game_that_nobody_knows(where: Scene, records: Records) -> int:
    return _ruleset(records[0], id="house-rules")


@lie("other-version", *UNKNOWN, *GAMES)
def the_next_version(where: Scene, records: Records) -> int:
    return _ruleset(records[0], version=2)


@lie("other-digest", *UNKNOWN, *GAMES)
def the_digest_of_other_rules(where: Scene, records: Records) -> int:
    return _ruleset(records[0], digest=secret("other rules"))


def _options(where: Scene, records: Records) -> None:
    """Options that are as possible as those that were played, with as many epochs."""
    with editing(records[0]) as body:
        options = getattr(body.lifecycle[0].opened.options, where.table.game.id)
        if where.table.game.id == "nimmt":
            options.compare = options.compare % 2 + 1 if options.HasField("compare") else 1
        elif where.table.game.id == "forces":
            options.first_starter = 2 if options.first_starter == 1 else 1
        else:
            options.first_player = 2 if options.first_player == 1 else 1


@lie("change-options", "BAD_SIGNATURE", "rules", "forces", "piece")
def options_that_would_have_been_possible(where: Scene, records: Records) -> Told:
    """Whoever joined signed over record 0."""
    _options(where, records)
    return Told(0, found=1)


@story("change-options", Strength.SERVER, "unsigned")
def other_options_where_nobody_signs(where: Scene) -> Evidence:
    """The match says itself under which options it starts, and is drawn and played under them."""
    records = where.records()
    with editing(records[0]) as body:
        options = body.lifecycle[0].opened.options.nimmt
        options.rounds = 2
        body.lifecycle[0].opened.epochs = 2
    return signed(where, chain(records), "RULES_DIVERGENCE", "rules", where.find("match_started"))


@lie("change-options", "TAMPERED", "rules", *GAMES)
def options_left_out(where: Scene, records: Records) -> int:
    with editing(records[0]) as body:
        body.lifecycle[0].opened.ClearField("options")
    return 0


@lie("change-mode", "BAD_SIGNATURE", "rules", "base", "nifty", "forces")
def contributions_in_one_step(where: Scene, records: Records) -> Told:
    return Told(_opened(records[0], mode=SEATS), found=1)


@lie("change-mode", "ILLEGAL_COMMAND", "rules", *GAMES)
def no_contributions(where: Scene, records: Records) -> Told:
    return Told(_opened(records[0], mode=SERVER_ONLY), found=1)


@lie("change-seats", "BAD_SIGNATURE", "rules", "base", "nifty")
def one_seat_more(where: Scene, records: Records) -> Told:
    return Told(_opened(records[0], seats=3), found=1)


@story("change-seats", Strength.SERVER, "unsigned")
def one_seat_more_where_nobody_signs(where: Scene) -> Evidence:
    """The seats were closed by themselves when two had joined: with three that could not be."""
    records = where.records()
    _opened(records[0], seats=3)
    return signed(where, chain(records), "RULES_DIVERGENCE", "rules", where.step("closed"))
