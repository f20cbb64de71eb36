"""The content of a report as plain values: what the page shows and what `--json` prints are the same."""

from __future__ import annotations

import json
from dataclasses import asdict
from difflib import SequenceMatcher
from typing import Any

from sixledger.cli import compare
from sixledger.cli.dispute import evidence, story
from sixledger.cli.dispute.boards import board_of, hand_of
from sixledger.cli.dispute.case import Case
from sixledger.cli.dispute.standing import standing
from sixledger.cli.dispute.verdicts import LAYERS, verdict
from sixledger.cli.dispute.weighing import weigh
from sixledger.cli.render.report import document, verdict_name
from sixledger.engine.version import __version__
from sixledger.ledger import records as records_
from sixledger.ledger.fairness import fairness
from sixledger.ledger.faults import LedgerFault
from sixledger.ledger.readable import dumps, shown
from sixledger.ledger.verify import unlike
from sixledger.ledger.verify.rerun import CONFUSED
from sixledger.v1 import replay_service_pb2


def facts(case: Case, commands: list[str]) -> dict[str, Any]:
    """Everything that the report says; `commands` are those that lead to it again."""
    report = case.report
    said = verdict(report, standing(case, report))
    return {
        "format": "sixledger-dispute/1",
        "version": __version__,
        "verdict": {"name": verdict_name(report.verdict), **asdict(said)},
        "summary": report.summary,
        "match": _match(case),
        "file": {
            "name": case.path.name,
            "sha256": case.sha256,
            "size": case.size,
            "viewer": compare.viewer_words(case.viewer),
            "records": len(case.ledger.records),
        },
        "result": _result(case),
        "bad_record": _bad_record(case),
        "closer_look": _closer_look(case),
        "closer_record": _closer_record(case),
        "place": case.place,
        "table": _table(case),
        "story": story.lines(case),
        "seats": evidence.seats(case),
        "other_acts": evidence.other_acts(case),
        "fairness": _fairness(case),
        "signer": evidence.signer(case),
        "heads": evidence.heads(case),
        "comparison": _comparison(case),
        "unchecked": evidence.unchecked(case),
        "beyond": list(evidence.BEYOND),
        "commands": commands,
        "report": document(report, case.path.name, case.status),
        "exit_status": case.status,
    }


def _match(case: Case) -> dict[str, Any]:
    moment = case.moment
    ruleset = case.report.ruleset
    rules = f"{ruleset.id}@{ruleset.version}" if case.report.HasField("ruleset") else ""
    return {
        "id": case.report.match_id.hex() if case.report.match_id else "",
        "game": moment.match.game.title if moment is not None else "",
        "rules": rules,
        "seats": len(moment.match.seats) if moment is not None else 0,
        "begun": story.time(case.course.entries[0].time_us) if len(case.course) else "",
        "last": story.time(case.course.entries[-1].time_us) if len(case.course) else "",
    }


def _result(case: Case) -> str:
    """Who won, if the match has ended and nothing is wrong."""
    moment = case.moment
    if moment is None or case.report.HasField("finding") or not moment.match.over:
        return ""
    winners = list(case.report.winners)
    if not winners:
        return "The match was aborted: nobody wins."
    who = " and ".join(story.name(seat) for seat in winners)
    return f"{who} won." if len(winners) == 1 else f"{who} share the win."


def _fairness(case: Case) -> dict[str, str]:
    moment = case.moment
    if moment is None:
        return {"label": "not known", "sentence": "nothing of the match can be followed"}
    found = fairness(moment.match)
    return {"label": found.label, "sentence": found.sentence}


def _comparison(case: Case) -> dict[str, Any] | None:
    if case.comparison is None:
        return None
    words, tone = compare.title(case.comparison)
    return {
        **compare.document(case.comparison),
        **weigh(case),
        "title": words,
        "tone": tone,
        "sentences": compare.sentences(case.comparison),
        "about": [compare.about(account) for account in case.comparison.accounts],
        "vouched": [
            [compare.voucher_words(voucher) for voucher in vouchers[-1:]] for vouchers in case.comparison.vouchers
        ],
    }


# -- the first bad record ------------------------------------------------------------------------


def _bad_record(case: Case) -> dict[str, Any] | None:
    """Where it is wrong and how: None if nothing is."""
    return _record(case, case.report.finding, case.bad) if case.report.HasField("finding") else None


def _closer_record(case: Case) -> dict[str, Any] | None:
    """The record that breaks the rules, where the report itself says only what the signed heads say."""
    if case.inner is None or case.inner_bad is None or case.inner_bad != case.place:
        return None
    return _record(case, case.inner.finding, case.inner_bad)


def _record(case: Case, finding: replay_service_pb2.Finding, seq: int | None) -> dict[str, Any]:
    """Record `seq` as it stands in the file, and what is wrong with it."""
    body = case.body(seq) if seq is not None else None
    missing = seq is not None and seq >= len(case.ledger.records)
    there = seq if not missing else None
    told = story.sides(case, there) if there is not None and finding.layer in ("rules", "seeds") else ([], [])
    return {
        "seq": seq,
        "line": finding.line or None if not missing else None,
        "missing": missing,
        "layer": finding.layer,
        "where": LAYERS.get(finding.layer, finding.layer),
        "message": finding.message,
        "actor": story.actor(body) if body is not None else "",
        "time": story.time(body.time_us) if body is not None and body.time_us < story.END_OF_TIME_US else "",
        "act": story.act(case, there) if there is not None else "",
        "says": story.claimed(case, there) if there is not None else [],
        "claimed": told[0],
        "recomputed": told[1],
        "marked": [_marked(told[side], told[1 - side]) for side in (0, 1)],
        "differences": [
            {"path": each.path, "recorded": each.recorded, "expected": each.expected} for each in finding.differences
        ],
        "sides": _sides(finding),
        "readable": _readable(case, there) if finding.layer == "chain" and there is not None else [],
    }


def _sides(finding: replay_service_pb2.Finding) -> list[str]:
    """What the two values of a difference between signed heads and the file are of."""
    two_heads = any(each.path.startswith("head[") for each in finding.differences)
    return ["One signed head", "The other signed head"] if two_heads else ["In the file", "In the signed head"]


def _marked(told: list[str], other: list[str]) -> list[list[dict[str, Any]]]:
    """The lines in pieces, each with whether the other side lacks it: what differs stands out."""
    lines = []
    for number, line in enumerate(told):
        mine, theirs = line.split(" "), other[number].split(" ") if number < len(other) else []
        found = SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes()
        pieces = [(" ".join(mine[start:end]), kind != "equal") for kind, start, end, _, _ in found if end > start]
        lines.append([{"text": text, "differs": differs} for text, differs in pieces])
    return lines


def _readable(case: Case, seq: int) -> list[dict[str, str]]:
    """Where the readable copy of a record says something else than the record: what was there before, perhaps."""
    try:
        schema = case.course.game.schema
        read = shown(records_.read(case.ledger.records[seq], schema), schema)
        found = unlike.differences("", json.loads(case.ledger.shown[seq]), json.loads(dumps(read)))
    except (LedgerFault, *CONFUSED):
        return []
    return [{"path": path, "copy": copy, "record": record} for path, copy, record in found[:20]]


def _closer_look(case: Case) -> str:
    """What the records say by themselves where the fault lies beside them."""
    inner = case.inner
    if inner is None:
        return ""
    if not inner.HasField("finding"):
        return (
            "Looked at by themselves, whoever signed them, the records in the file fit each other, and as far as they "
            "can be played again they follow the rules."
        )
    name = verdict_name(inner.verdict)
    at = f" at record {inner.finding.seq}" if inner.finding.HasField("seq") else ""
    said = "Looked at by themselves, whoever signed them, the records in the file are wrong as well"
    return f"{said}{at}: {name}, {inner.finding.message}."


# -- the table -----------------------------------------------------------------------------------


def _table(case: Case) -> dict[str, Any] | None:
    """The table before the first bad record, or at the end."""
    moment = case.moment
    if moment is None:
        return None
    game, seat = moment.match.game.id, case.eyes.seat
    names = [story.name(number) for number in range(len(moment.match.seats))]
    view = case.course.view(moment, case.eyes)
    board = board_of(game, view, names) if view is not None else None
    hands = [(number, hand_of(game, each)) for number, each in case.hands()]
    return {
        "after": moment.entry.seq,
        "over": moment.match.over,
        "begun": view is not None,
        "eyes": "everybody’s hands"
        if case.eyes.everything
        else story.name(seat)
        if seat is not None
        else "a spectator",
        "board": asdict(board) if board is not None else None,
        "hands": [
            {"name": names[number], "cards": [asdict(card) for card in cards]} for number, cards in hands if cards
        ],
    }
