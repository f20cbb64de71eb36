"""What a person types at a table of 6 Forces."""

from __future__ import annotations

from google.protobuf.message import Message
from rich.text import Text
from sixledger.cli.render.forces_cards import code, trump_name
from sixledger.engine.bots import concrete
from sixledger.games.forces.v1 import forces_pb2 as pb


class ForcesPrompt:
    """6 Forces: a number of tricks, with + for flex; a trump type by its name; a card by its code."""

    help: tuple[str, ...] = (
        "3            predict three tricks (+4 points if it is so)",
        "3+           predict three with flex: three or four tricks (+2 points)",
        "red, high …  choose that trump type; it counts in the tricks that you lead",
        "r10          play the red 10; whoever holds the led colour must follow it",
    )

    def question(self, view: pb.View) -> Text:
        """What may be chosen now, in short."""
        if view.phase == pb.PHASE_TRICKS:
            return Text("Your card")
        parts = []
        if most := [each.predict.prediction for each in view.legal if each.HasField("predict")]:
            parts.append("Your tricks (0)" if len(most) == 1 else f"Your tricks (0–{max(most)}, + adds flex)")
        if types := [trump_name(each.choose_trump.trump) for each in view.legal if each.HasField("choose_trump")]:
            parts.append(f"{'or trump' if parts else 'Your trump'} ({' '.join(types).lower()})")
        return Text(" ".join(parts))

    def read(self, view: pb.View, text: str) -> Message:
        """The legal command that is spelt like `text`."""
        commands = {_spell(each): concrete(each) for each in view.legal}
        asked = text.lower().replace(" ", "")
        if asked in commands:
            return commands[asked]
        words = list(commands)
        allowed = f"{', '.join(words[:7])} …" if len(words) > 12 else ", ".join(words)
        if view.phase == pb.PHASE_TRICKS and asked in {code(card).lower() for card in view.seats[view.viewer].hand}:
            raise ValueError(f"You must follow the led colour: type one of {allowed}.")
        raise ValueError(f"{text!r} is not possible now: type one of {allowed}.")


def _spell(command: pb.Command) -> str:
    """How a legal command is typed."""
    if command.HasField("predict"):
        return f"{command.predict.prediction}{'+' if command.predict.flex else ''}"
    if command.HasField("choose_trump"):
        return trump_name(command.choose_trump.trump).lower()
    return code(command.play_card.card).lower()
