"""Two accounts of one match: which of them can be true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sixledger.cli.dispute.case import Case
from sixledger.cli.dispute.standing import standing
from sixledger.cli.dispute.verdicts import verdict
from sixledger.cli.render.report import document
from sixledger.v1 import replay_service_pb2 as pb


def weigh(case: Case) -> dict[str, Any]:
    """What each account is worth by itself, and what follows; nothing if the other is no ledger of the match."""
    if case.other is None or case.comparison is None:
        return {"by_themselves": [], "conclusion": "", "other_report": None}
    names = [account.name for account in case.comparison.accounts]
    ranks = [_rank(each) for each in (case, case.other)]
    differ = not case.comparison.agrees
    return {
        "by_themselves": [_alone(name, each) for name, each in zip(names, (case, case.other), strict=True)],
        "conclusion": _conclusion(names, ranks) if differ else "",
        "other_report": document(case.other.report, names[1], case.other.status),
    }


def _records(case: Case) -> pb.VerifyReport:
    """What is found in the records themselves, whoever signed them."""
    return case.inner if case.inner is not None else case.report


def _rank(case: Case) -> bool | None:
    """True if the records keep the rules, False if they do not, None if that is not known."""
    verdict = _records(case).verdict
    if verdict in (pb.VERDICT_INCOMPLETE, pb.VERDICT_UNKNOWN_RULESET):
        return None
    return verdict == pb.VERDICT_VALID


def _alone(name: str, case: Case) -> str:
    found = _records(case)
    if found.verdict == pb.VERDICT_UNKNOWN_RULESET:
        return f"{name}: this program does not know its rules."
    if found.HasField("finding"):
        where = f" at record {found.finding.seq}" if found.finding.HasField("seq") else ""
        title = verdict(found, standing(case, found)).title
        return f"{name} is wrong by itself{where}: {title[:1].lower()}{title[1:]}"
    if found.verdict == pb.VERDICT_INCOMPLETE:
        kept = f"As far as {name} can be checked yet, nothing in it is against the rules"
    else:
        kept = f"Every move in {name} follows the rules"
    if case.report.signer_authenticated:
        return f"{kept}, and a key that you trust vouches for it."
    return f"{kept}, but no key that you trust vouches for all of it."


def _conclusion(names: Sequence[str], ranks: Sequence[bool | None]) -> str:
    if ranks[0] is False and ranks[1] is False:
        return "Neither of the two can be true as it stands."
    if False in ranks and True in ranks:
        return f"Of the two only {names[ranks.index(True)]} can be true."
    if False in ranks:
        return f"{names[ranks.index(False)]} cannot be true as it stands."
    return "Both could have happened by the rules: which one did, only signatures and receipts can show."
