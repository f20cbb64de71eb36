"""Playing against the clock at the terminal."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text
from sixledger.cli import remote
from sixledger.cli.bots.tables import Seeker
from sixledger.cli.render.lifecycle import life, timed_out
from sixledger.cli.server_table import ServerTable
from sixledger.cli.table_talk import Talk
from sixledger.cli.terminal import THEME
from sixledger.client import time_limits
from sixledger.engine.nimmt import GAME
from sixledger.ledger import clocks
from sixledger.ledger.file import load
from sixledger.ledger.records import read_body
from sixledger.testing import FakeServer
from sixledger.v1 import record_pb2
from support.command_line import CommandLine
from support.play import ONE_ROUND


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--turn-seconds", "5"), "need --server"),
        (("--server", "127.0.0.1:1", "--increment", "2"), "--increment needs --bank"),
        (("--server", "127.0.0.1:1", "--bank", "1e9"), "bank must be between"),
        (("--server", "127.0.0.1:1", "--join", "--bank", "60"), "whoever opens the table sets its clocks"),
        (("--turn-seconds", "-1"), "--turn-seconds"),
        (("--on-timeout", "cry"), "--on-timeout"),
    ],
)
def test_options_that_make_no_sense(sixledger: CommandLine, arguments: tuple[str, ...], complaint: str) -> None:
    assert complaint in sixledger("play", "nimmt", *arguments).refused(2)


def test_a_person_who_is_too_late_is_told_so_and_plays_on() -> None:
    screen = StringIO()
    console = Console(file=screen, theme=THEME, width=100)
    with FakeServer() as server, server.client() as client:
        match_id = server.open(
            "nimmt",
            seats=2,
            options=ONE_ROUND,
            mode=record_pb2.CONTRIBUTION_MODE_SERVER_ONLY,
            clock=time_limits(turn=30),
            on_timeout=clocks.FIRST_LEGAL,
        )
        with client.matches.join(match_id) as own, client.matches.join(match_id):

            class Slow(Talk):
                """Types the highest card after the time is over, and leaves when asked again."""

                asked = 0

                def _line(self, question: Text) -> str | None:
                    self.asked += 1
                    console.print(question)
                    if self.asked > 1:
                        return None
                    highest = own.legal()[-1]
                    server.advance(31)
                    return str(highest.card)  # type: ignore[attr-defined]  # a SelectCard

            talk = Slow(ServerTable(GAME, own, ["You", "Bob"], console), console)
            assert talk.play() is False
            assert talk.asked == 2
            assert "30 s left" in screen.getvalue()
            assert "Too late: the table has moved on." in screen.getvalue()
            said = [line for record in own.records for line in timed_out(record.body, ["You", "Bob"])]
            assert said == [f"{who} has run out of time: the first legal command counts." for who in ("You", "Bob")]


def test_a_paused_match_is_waited_for() -> None:
    with FakeServer() as server, server.client() as client:
        created = client.matches.create(
            "nimmt", seats=1 + 1, options=ONE_ROUND, mode=record_pb2.CONTRIBUTION_MODE_SERVER_ONLY
        )
        with client.matches.join(created.match_id) as own, client.matches.join(created.match_id):
            assert own.turn()
            table = ServerTable(GAME, own, ["You", "Bob"], Console(file=StringIO(), theme=THEME))
            assert table.seconds_left() is None
            command = own.legal()[0]
            client.matches.pause(created.match_id, created.owner_token)
            with pytest.raises(Exception, match="The match is paused"):
                table.submit(command)
            client.matches.unpause(created.match_id, created.owner_token)
            table.advance()
            table.submit(command)


def test_a_missed_deadline_in_words() -> None:
    missed = record_pb2.MissedDeadline(timer=clocks.REVEAL, seats=[0, 2])
    step = record_pb2.Lifecycle(aborted=record_pb2.Aborted(missed=missed))
    said = "The table is aborted: Ada and seat 2 did not reveal the contribution in time."
    assert life(step, ["Ada", "Bob"]) == said
    assert life(record_pb2.Lifecycle(aborted=record_pb2.Aborted()), []) == "The table is aborted."


def test_a_stranger_who_never_contributes_does_not_keep_the_table_of_a_bot_for_ever() -> None:
    """The bot has committed; an hour later the match is aborted, and the other seat is named."""
    with FakeServer() as server, server.client() as client:
        found = Seeker(client, "nimmt", 2, GAME.complete(2, ONE_ROUND)).find(lambda: False)
        assert found is not None
        match_id, seat = found
        with client.matches.join(match_id, seat) as own, client.matches.join(match_id) as stranger:
            own.refresh()
            server.advance(remote.DEAL_LIMIT_S + 1)
            assert own.turn() is False
            assert own.records[-1].body.lifecycle[0].aborted.missed.seats == [stranger.seat]


@pytest.mark.parametrize(("options", "turn_us"), [((), 0), (("--turn-seconds", "30"), 30_000_000)])
def test_a_table_that_play_opens_has_limits_for_the_deal(
    sixledger: CommandLine, tmp_path: Path, options: tuple[str, ...], turn_us: int
) -> None:
    """Nothing is said of them at the table: there is no time for a decision unless somebody asked for it."""
    with FakeServer() as server:
        ran = sixledger("play", "nimmt", "--bots", "1", "--server", server.address, *options, typed="q\n")
    assert (ran.status, ran.err) == (0, "")
    assert ("s left" in ran.out) == bool(turn_us)
    (path,) = tmp_path.glob("out/*.ledger.jsonl")
    clock = read_body(load(path).records[0]).lifecycle[0].opened.clock
    assert (clock.contribute_us, clock.reveal_us, clock.turn_us) == (3_600_000_000, 3_600_000_000, turn_us)
