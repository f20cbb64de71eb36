"""A card dealt otherwise than the committed seed says is found in every game and variant, whoever signs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from js.agree import pairs
from js.node import CLIENT, ROOT, run
from js.samples import Sample
from sixledger.engine.registry import installed
from sixledger.engine.visibility import classes
from sixledger.games.forces.v1 import forces_pb2
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb
from sixledger.games.piece.v1 import piece_pb2
from sixledger.v1 import game_pb2, record_pb2
from support import forging
from support.ledgers import KEYS, Table, copies, heads, rechain

GAMES = {game.id: game for game in installed().all()}
SEED, RULES = "SEED_MISMATCH", "RULES_DIVERGENCE"


@dataclass(frozen=True)
class Lie:
    """The first event of this name in a match is changed."""

    game: str
    variant: str
    event: str
    change: Callable[[Any], object]
    verdict: str


def _swap(name: str) -> Callable[[Any], None]:
    """The first two different things of a list change places."""

    def apply(event: Any) -> None:
        items = getattr(event, name)
        kept = list(items)
        other = next((i for i, each in enumerate(kept) if each != kept[0]), 0)
        kept[0], kept[other] = kept[other], kept[0]
        del items[:]
        items.extend(kept)

    return apply


def _other(name: str, value: int = 1) -> Callable[[Any], None]:
    """A number is another one."""
    return lambda event: setattr(event, name, (getattr(event, name) + value) % 2)


PACKED = ("BASE", "TACTICS", "PROFESSIONAL", "OPEN", "NIFTY", "HAND", "DOUBLE")
LIES = [
    *(Lie("nimmt", variant, "pack_shuffled", _swap("order"), SEED) for variant in PACKED),
    *(Lie("nimmt", variant, "hand_dealt", _swap("cards"), RULES) for variant in PACKED),
    *(Lie("nimmt", variant, "rows_started", _swap("rows"), RULES) for variant in PACKED[:-1]),
    Lie("nimmt", "DOUBLE", "rows_started", _swap("stacked_rows"), RULES),
    Lie("nimmt", "DOUBLE", "rows_started", _swap("drawn"), RULES),
    *(Lie("nimmt", variant, "draft_started", _swap("cards"), RULES) for variant in ("LOGIC", "TOURNAMENT")),
    *(Lie("nimmt", variant, "rows_started", _swap("rows"), RULES) for variant in ("LOGIC", "TOURNAMENT")),
    *(Lie("nimmt", variant, "starter_drawn", _other("seat"), SEED) for variant in ("LOGIC", "OPEN", "HAND")),
    Lie("nimmt", "TOURNAMENT", "hand_set", _swap("cards"), RULES),
    Lie("forces", "", "starter_drawn", _other("seat"), SEED),
    Lie("forces", "", "deck_shuffled", _swap("order"), SEED),
    Lie("forces", "", "hand_dealt", _swap("cards"), RULES),
    Lie("piece", "", "match_started", _other("first_player"), SEED),
    Lie("piece", "", "deck_shuffled", _swap("order"), SEED),
    Lie("piece", "", "six_piece", _swap("new_order"), SEED),
    Lie("piece", "", "card_discarded", lambda event: setattr(event, "card", event.card % 6 + 1), SEED),
]


@cache
def _table(game: str, variant: str) -> Table:
    options: Any = forces_pb2.Options(deals=1, first_starter=forces_pb2.FIRST_STARTER_RANDOM)
    if game == "nimmt":
        options = pb.Options(variant=pb.Variant.Value(f"VARIANT_{variant}"))
        if variant != "TOURNAMENT":
            options.end_mode, options.rounds = pb.END_MODE_ROUNDS, 1
        if variant in ("LOGIC", "TOURNAMENT", "OPEN", "HAND"):
            options.first_starter = pb.FIRST_STARTER_RANDOM
    elif game == "piece":
        options = piece_pb2.Options(discard=True, first_player=piece_pb2.FIRST_PLAYER_RANDOM)
    played = GAMES[game]
    seats = max(2, played.min_seats)
    for attempt in range(40):
        found = Table(seats, played.complete(seats, options).options, game=played, name=f"deals {variant} {attempt}")
        found.play()
        events = [event for record in found.records for event in forging.body_of(record).events]
        if game != "piece" or any(len(event.piece.six_piece.cards) > 1 for event in events):
            return found
    raise AssertionError("no match with every draw")


def _name(event: Any) -> str:
    game = event.WhichOneof("game")
    return str(getattr(event, game).WhichOneof("event"))


def _told(lie: Lie) -> tuple[Table, list[record_pb2.Record], int]:
    """The match, its records with the lie, and the record that lies."""
    table = _table(lie.game, lie.variant)
    records = copies(table.records)
    for seq, record in enumerate(records):
        owner, secrets = -1, []
        with forging.editing(record) as body:
            for index, event in enumerate(body.events):
                inner = getattr(getattr(event, lie.game), _name(event))
                if _has_secret(inner):
                    secrets.append(index)
                if owner < 0 and _name(event) == lie.event and _is_worth(inner, lie):
                    owner = index
                    if index not in secrets:
                        lie.change(inner)
        if owner < 0:
            continue
        if owner in secrets:
            offset = len(record.seals) - len(secrets)
            opening = next(each for each in record.openings if each.seal == offset + secrets.index(owner))
            event = game_pb2.Event.FromString(opening.value)
            lie.change(getattr(getattr(event, lie.game), lie.event))
            opening.value = event.SerializeToString(deterministic=True)
        return table, rechain(records), seq
    raise AssertionError(f"there is no {lie.event}")


def _has_secret(event: Any) -> bool:
    kind: Any = type(event)
    return bool(classes(kind).secret)


def _is_worth(event: Any, lie: Lie) -> bool:
    """A shuffle of fewer than two cards cannot be told otherwise."""
    return lie.event != "six_piece" or len(event.cards) > 1


def test_every_other_deal_is_found_and_both_verifiers_say_so(tmp_path: Path) -> None:
    told = [_told(lie) for lie in LIES]
    samples = [
        Sample(number, lie.variant, "", forging.write(records, heads(records), KEYS, table.game), lie.event)
        for number, (lie, (table, records, _)) in enumerate(zip(LIES, told, strict=True))
    ]
    wrong = []
    for lie, (_, _, seq), pair in zip(LIES, told, pairs(samples, tmp_path), strict=True):
        if (pair.javascript.verdict, pair.javascript.seq) != (lie.verdict, seq) or not pair.equal:
            wrong.append((lie.game, lie.variant, lie.event, seq, pair.python, pair.javascript.summary))
    assert wrong == []


def test_the_untouched_matches_are_valid_and_every_draw_was_made_again(tmp_path: Path) -> None:
    tables = [_table(game, variant) for game, variant in dict.fromkeys((lie.game, lie.variant) for lie in LIES)]
    found = pairs([Sample(i, "", "", table.file()) for i, table in enumerate(tables)], tmp_path)
    assert {(pair.python.verdict, pair.javascript.verdict) for pair in found} == {("VALID", "VALID")}


def test_the_digests_are_those_of_the_games_and_of_the_specification() -> None:
    script = f"""
    import {{ RULESETS }} from {(CLIENT / "lib" / "verify.mjs").as_uri()!r};
    const digest = (each) => Buffer.from(each.digest, "base64").toString("hex");
    console.log(JSON.stringify(RULESETS.map((each) => [each.id, each.version, digest(each)])));
    """
    done = run("--input-type=module", "-e", script)
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert found == sorted([game.id, game.version, game.digest.hex()] for game in installed().all())
    page = (ROOT / "docs" / "spec" / "ledger.md").read_text(encoding="utf-8")
    for name, version, digest in found:
        assert f"| {name} | {version} | `{digest}` |" in page
