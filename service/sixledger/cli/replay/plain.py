"""The course without a full screen: every record in words, for pipes and for reading on paper."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text
from sixledger.cli.replay import words
from sixledger.cli.replay.course import Eyes
from sixledger.cli.replay.scene import Scene
from sixledger.cli.replay.sources import Judgement, Replay
from sixledger.cli.terminal import THEME


def print_course(console: Console, replay: Replay) -> int:
    """Print the records, of a live match until it ends; the exit status."""
    course, eyes = replay.course, replay.eyes
    scene = Scene(course, replay.names)
    _head(console, replay)
    for seq in range(len(course)):
        _record(console, scene, seq, eyes)
    if replay.live is not None:
        for update in replay.live.updates(len(course)):
            if replay.take(update):
                _record(console, scene, len(course) - 1, eyes)
    result = scene.result(course.at(len(course) - 1))
    if result is not None:
        console.print()
        console.print(result)
    console.print()
    judgement = replay.judgement
    if judgement.cut:
        console.print(Text(f"✗ {judgement.cut}", "bad"), soft_wrap=True)
    console.print(_verdict(judgement, replay.title), soft_wrap=True)
    return judgement.status


def _head(console: Console, replay: Replay) -> None:
    first = replay.course.entries[0]
    eyes = words.eyes_name(replay.eyes, replay.names)
    said = f"{replay.course.game.title}, {words.day(first.time_us)}, as seen by {eyes}"
    console.print(_verdict(replay.judgement, replay.title), soft_wrap=True)
    console.print(Text(said, "heading"), soft_wrap=True)
    console.print()


def _verdict(judgement: Judgement, title: str) -> Text:
    return Text.assemble(
        (f" {judgement.word} ", THEME.styles[f"verdict.{judgement.style}"]), f" {title}  ", (judgement.text, "faint")
    )


def _record(console: Console, scene: Scene, seq: int, eyes: Eyes) -> None:
    moment = scene.course.at(seq)
    seen = eyes if scene.course.sees(eyes, seq) else Eyes()
    for line in scene.ledger_line(moment, seen):
        console.print(line, soft_wrap=True)
    console.file.flush()
