"""What a person types at a table of 6 nimmt!."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from google.protobuf.message import Message
from rich.text import Text
from sixledger.engine.bots import concrete
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

_SIDES = {pb.SIDE_LEFT: "left", pb.SIDE_RIGHT: "right"}


class NimmtPrompt:
    """6 nimmt! and its variants: cards by their numbers, rows from 1 to 4."""

    help: tuple[str, ...] = (
        "a number     play that card of your hand, or collect that row (1 to 4, from the top)",
        "             cards go to the row whose last card is the nearest below; the sixth card",
        "             collects the five before it; a card below all rows collects a row you choose",
        "5 100        where a variant has several cards: their numbers; where order counts, in order",
        "0            keep no card of a collected row (variant hand)",
    )

    def question(self, view: pb.View) -> Text:
        """What may be chosen now, in short."""
        return Text(_QUESTIONS[_case(view)](view))

    def read(self, view: pb.View, text: str) -> Message:
        """The legal command that the numbers mean. Raises ValueError, whose text says what is allowed."""
        case = _case(view)
        commands = {spell(each): concrete(each) for each in view.legal}
        numbers = re.split(r"[ ,]+", text.strip())
        if all(each.isascii() and each.isdecimal() and len(each) < 6 for each in numbers):
            numbers = [str(int(each)) for each in numbers]
            if case in ("select_pair", "keep_cards"):
                numbers.sort(key=int)  # only a choice of an order has one
        asked = " ".join(numbers)
        if asked in commands:
            return commands[asked]
        raise ValueError(_wrong(view, case, text, list(commands)))


def _case(view: pb.View) -> str:
    case = view.legal[0].WhichOneof("command")
    assert case is not None
    return case


def spell(command: pb.Command) -> str:
    """How a legal command is typed."""
    case = command.WhichOneof("command")
    if case == "take_row":
        return str(command.take_row.row + 1)
    if case == "choose_end":
        return str(command.choose_end.row + 1)  # two ends that are equally near belong to two rows
    inner = concrete(command)
    if isinstance(inner, pb.SelectPair | pb.PlayCards | pb.KeepCards):
        return " ".join(map(str, inner.cards)) or "0"
    assert isinstance(inner, pb.SelectCard | pb.LayCard | pb.PlaceFirst | pb.DraftCard)
    return str(inner.card)


def _wrong(view: pb.View, case: str, text: str, allowed: list[str]) -> str:
    """Why `text` is no command, and what would be."""
    if case == "take_row":
        return f"There is no row {text!r}: type a number from 1 to {len(allowed)}."
    if case == "choose_end":
        return f"{text!r} is none of the two rows: type {' or '.join(allowed)}."
    if case in ("select_card", "lay_card"):
        return f"You do not hold {text!r}: type one of {', '.join(allowed)}."
    if case == "select_pair":
        return f"{text!r} is no pair: type two different cards of your hand, for example {allowed[0]}."
    if case == "play_cards":
        return f"{text!r} cannot be played: type one or two cards of your hand in order, for example {allowed[1]}."
    if case == "keep_cards":
        most = view.keep_choice.most
        return f"{text!r} cannot be kept: type at most {most} cards of the row, or 0 for none."
    words = f"{', '.join(allowed[:8])} …" if len(allowed) > 12 else ", ".join(allowed)
    return f"{text!r} is not possible now: type one of {words}."


def _end_question(view: pb.View) -> str:
    ends = " or ".join(f"{end.row + 1} ({_SIDES[end.side]})" for end in view.end_choice.ends)
    return f"Row for your {view.end_choice.card}: {ends}"


def _keep_question(view: pb.View) -> str:
    choice = view.keep_choice
    cards = " ".join(map(str, view.rows[choice.row].cards))
    return f"Keep which of {cards} (at most {choice.most}, 0 for none)"


_QUESTIONS: Mapping[str, Callable[[pb.View], str]] = {
    "select_card": lambda view: "Your card",
    "select_pair": lambda view: "Your two cards",
    "lay_card": lambda view: "Your card",
    "play_cards": lambda view: "Your card, or two in order",
    "draft_card": lambda view: "Take a card",
    "place_first": lambda view: f"Which first, {' or '.join(map(str, view.order_choice.cards))}",
    "take_row": lambda view: f"Row for your {view.row_choice.card} (1–{len(view.legal)})",
    "choose_end": _end_question,
    "keep_cards": _keep_question,
}
