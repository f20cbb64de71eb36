"""What a person types at a table of 6piece."""

from __future__ import annotations

from google.protobuf.message import Message
from rich.text import Text
from sixledger.cli.render.piece_words import STACKS, guess_name
from sixledger.engine.bots import concrete
from sixledger.games.piece.v1 import piece_pb2 as pb


class PiecePrompt:
    """6piece: no ability or an ability by its number; a stack; a guess."""

    help: tuple[str, ...] = (
        "n            use no ability of the open card",
        "5            use ability 5 (of a Beast: any of 1 to 6)",
        "1 own        with ability 1 the deck to look at: own or opponent",
        "6 left       with ability 6 the die to subtract from: left or right",
        "left, right  the stack for the open card",
        "3, beast     what the opponent's next card is, when you must guess",
    )

    def question(self, view: pb.View) -> Text:
        """What may be chosen now, in short."""
        words = ", ".join(_spell(each) for each in view.legal)
        what = {pb.PHASE_DECIDE: "Your ability", pb.PHASE_PLACE: "Your stack", pb.PHASE_GUESS: "Your guess"}
        return Text(f"{what.get(view.phase, 'Your choice')} ({words})")

    def read(self, view: pb.View, text: str) -> Message:
        """The legal command that is spelt like `text`, or the only one that begins so."""
        commands = {_spell(each): concrete(each) for each in view.legal}
        asked = " ".join(text.lower().split())
        if asked in commands:
            return commands[asked]
        begin = [word for word in commands if asked and word.startswith(asked)]
        if len(begin) == 1:
            return commands[begin[0]]
        raise ValueError(f"{text!r} is not possible now: type one of {', '.join(commands)}.")


def _spell(command: pb.Command) -> str:
    """How a legal command is typed."""
    if command.HasField("decline"):
        return "n"
    if command.HasField("place"):
        return STACKS[command.place.stack]
    if command.HasField("guess"):
        return guess_name(command.guess.value)
    use = command.use_ability
    if use.ability == 1:
        return f"1 {'own' if use.deck == pb.DECK_OWN else 'opponent'}"
    return f"6 {STACKS[use.die]}" if use.HasField("die") else str(use.ability)
