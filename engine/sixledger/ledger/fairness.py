"""How fair a deal provably is, in one label and one sentence: the same words wherever a match is shown (DESIGN 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sixledger.ledger.clocks import GO_ON
from sixledger.ledger.match import Match
from sixledger.v1 import record_pb2

COMMIT_REVEAL, SEATS = record_pb2.CONTRIBUTION_MODE_COMMIT_REVEAL, record_pb2.CONTRIBUTION_MODE_SEATS

PROVABLY_FAIR = "provably fair"
UNFAIR_IF_OPERATOR_PLAYS = "unfair if the operator also plays"
NO_CONTRIBUTION = "no contribution"
BIASABLE = "biasable by one bit per withholder"
NOTHING_DEALT = "nothing was dealt"

_ALONE = "the operator alone chose the seed: it is committed, but it may have been picked among many"


@dataclass(frozen=True, slots=True)
class Fairness:
    """How fair a deal is. As text: label and sentence."""

    #: A few words: one of the constants of this module, and where it matters which seats.
    label: str
    #: Why, for people; no full stop.
    sentence: str
    #: The seats whose contribution is in the deal, ascending.
    contributed: tuple[int, ...] = ()
    #: The seats that committed to a contribution and withheld it when the others were known, ascending.
    withheld: tuple[int, ...] = ()

    def __str__(self) -> str:
        """Label and sentence."""
        return f"{self.label} – {self.sentence}"


def promised(opened: record_pb2.MatchOpened) -> Fairness:
    """How fair the deal can be, by what record 0 states: before it is known who sits down and what they do."""
    if opened.mode == COMMIT_REVEAL and opened.clock.withheld == GO_ON:
        sentence = "seats commit to contributions, then reveal them; the match goes on without those that are withheld"
        return Fairness(f"{PROVABLY_FAIR} unless a seat withholds its contribution", sentence)
    if opened.mode == COMMIT_REVEAL:
        return Fairness(PROVABLY_FAIR, "seats commit to contributions, then reveal them; without all of them no deal")
    if opened.mode == SEATS:
        sentence = "seats contribute in one step; who comes last can choose the deal with the operator's help"
        return Fairness(UNFAIR_IF_OPERATOR_PLAYS, sentence)
    return Fairness(NO_CONTRIBUTION, f"no seat contributes; {_ALONE}")


def fairness(match: Match) -> Fairness:
    """How fair the deal of a match is; before the start how fair it can be, or that nothing was dealt.

    Follows from the records up to the start alone, so every viewer computes the same.
    """
    if match.state is None:
        return Fairness(NOTHING_DEALT, "the match ended before the start") if match.over else promised(match.opened)
    given = tuple(number for number, seat in enumerate(match.seats) if seat.contribution)
    late = [number for number, seat in enumerate(match.seats) if seat.withheld]
    withheld = tuple(number for number in late if match.seats[number].commitment)
    absent = [number for number in late if number not in withheld]
    too_late = f"; {_named(absent)} gave nothing in time" if absent else ""
    if not given:
        return Fairness(NO_CONTRIBUTION, f"no seat contributed to the deal; {_ALONE}")
    who = f"{_named(given)} of {len(match.seats)}"
    if match.opened.mode == SEATS:
        sentence = f"{who} contributed in one step; who came last could choose the deal with the operator's help"
        return Fairness(UNFAIR_IF_OPERATOR_PLAYS, sentence + too_late, given)
    if withheld:
        each = "it" if len(withheld) == 1 else "each of them"
        sentence = (
            f"{who} contributed; {_named(withheld)} committed and then withheld: "
            f"with the operator's help {each} could choose between two deals"
        )
        return Fairness(f"{BIASABLE}: {_named(withheld)}", sentence + too_late, given, withheld)
    if len(given) == 1:
        sentence = (
            f"{who} alone contributed, after the seed was fixed; others must trust that it and the operator are not one"
        )
        return Fairness(f"{PROVABLY_FAIR} to {_named(given)}", sentence + too_late, given)
    sentence = (
        f"{who} committed before any contribution was known; only the operator and all of them could choose the deal"
    )
    return Fairness(PROVABLY_FAIR, sentence + too_late, given)


def _named(seats: Sequence[int]) -> str:
    return f"seat{'s' if len(seats) > 1 else ''} {', '.join(map(str, seats))}"
