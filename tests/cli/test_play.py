"""`sixledger play`, with what is typed coming from a pipe."""

from __future__ import annotations

from pathlib import Path

import pytest
from sixledger.cli.nimmt_prompt import NimmtPrompt
from sixledger.cli.prompts import ListPrompt
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb
from sixledger.ledger import file
from sixledger.ledger.folding import fold
from support.command_line import CommandLine

#: Types every number again and again: whatever is asked, the right answer comes.
ANYTHING = "\n".join(str(number) for _ in range(12) for number in range(1, 105))
ONE_ROUND = ("play", "nimmt", "--seed", "3", "--preset", "d4")


def test_a_match_to_its_end_with_a_saved_and_valid_ledger(sixledger: CommandLine, tmp_path: Path) -> None:
    ran = sixledger(*ONE_ROUND, typed=ANYTHING)
    assert (ran.status, ran.err) == (0, "")
    assert "Final ranking" in ran.out
    assert " VALID " in ran.out
    (saved,) = (tmp_path / "out").glob("*.ledger.jsonl")
    assert str(saved.relative_to(tmp_path)) in ran.out
    checked = sixledger("verify", saved)
    assert checked.status == 0
    assert "signed by a trusted key" in checked.out
    assert fold(file.load(saved).records).over


def test_the_same_seed_is_the_same_match(sixledger: CommandLine) -> None:
    """Cards and bots repeat; only the times in the ledger differ."""
    assert sixledger(*ONE_ROUND, typed=ANYTHING).out == sixledger(*ONE_ROUND, typed=ANYTHING).out


def test_wrong_answers_say_what_is_possible(sixledger: CommandLine) -> None:
    ran = sixledger(*ONE_ROUND, typed="0\n105\n-3\nfive\n٣\n" + "9" * 5000 + "\n")
    assert ran.status == 0
    assert ran.out.count("You do not hold") == 6
    assert "type one of" in ran.out


def test_help_rules_and_table_on_demand(sixledger: CommandLine) -> None:
    shown = sixledger(*ONE_ROUND, typed="?\nr\nt\n").out
    assert "collects the five before it" in shown
    assert "A choice is final" in shown
    assert "Whoever collects the fewest bullheads wins" in shown
    assert shown.count("\n your hand\n") == 2


def test_leaving_asks_first_and_resigns(sixledger: CommandLine, tmp_path: Path) -> None:
    ran = sixledger(*ONE_ROUND, typed="q\nno\nq\nyes\n")
    assert ran.status == 0
    assert ran.out.count("Leave the table?") == 2
    assert "a player has resigned" in ran.out
    assert "4.  You" in ran.out
    assert len(list((tmp_path / "out").glob("*.ledger.jsonl"))) == 1


def test_the_end_of_the_input_leaves_too(sixledger: CommandLine) -> None:
    ran = sixledger(*ONE_ROUND)
    assert (ran.status, ran.err) == (0, "")
    assert "a player has resigned" in ran.out


@pytest.mark.parametrize(("game", "bots"), [("piece", 1), ("forces", 3)])
def test_without_a_number_there_are_as_many_bots_as_the_game_allows(
    sixledger: CommandLine, game: str, bots: int
) -> None:
    assert sixledger("play", game, "--seed", "1", typed="q\n").status == 0
    assert "is not played by" in sixledger("play", game, "--bots", str(bots + 1)).refused(2)


@pytest.mark.parametrize("bots", [1, 9])
def test_smallest_and_largest_table(sixledger: CommandLine, bots: int) -> None:
    ran = sixledger(*ONE_ROUND, "--bots", str(bots), "--bot", "random", typed=ANYTHING)
    assert ran.status == 0
    assert f"{bots + 1}.  " in ran.out


def test_rows_are_asked_for_by_their_place() -> None:
    """Row 1 is the topmost; outside 1 to 4 there is none."""
    view = pb.View(legal=[pb.Command(take_row=pb.TakeRow(row=row)) for row in range(4)])
    prompt = NimmtPrompt()
    assert prompt.read(view, "1") == pb.TakeRow(row=0)
    assert prompt.read(view, "4") == pb.TakeRow(row=3)
    for wrong in ("0", "5", "x", ""):
        with pytest.raises(ValueError, match="from 1 to 4"):
            prompt.read(view, wrong)


def test_any_game_can_be_played_from_the_list_of_its_commands() -> None:
    view = pb.View(legal=[pb.Command(select_card=pb.SelectCard(card=card)) for card in (7, 9)])
    prompt = ListPrompt()
    assert prompt.question(view).plain.splitlines()[:2] == ["   1  SelectCard card=7", "   2  SelectCard card=9"]
    assert prompt.read(view, "2") == pb.SelectCard(card=9)
    for wrong in ("0", "3", "-1", "x"):
        with pytest.raises(ValueError, match="from 1 to 2"):
            prompt.read(view, wrong)
