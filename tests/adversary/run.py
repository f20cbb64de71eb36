"""The adversary table: `make adversary`, or `python tests/adversary/run.py [--topic NAME] [--update]`.

Tries every attack and prints who notices it. Exit status 1 if something goes through that the threat model does not
name. `--update` writes docs/explanation/adversaries.md anew.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

if __name__ == "__main__":  # run as a script: find the siblings as the tests do
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from adversary.attacks import ATTACKS
from adversary.attempts import ATTEMPTS
from adversary.second import disagreements, left_to_the_first, second_opinions
from adversary.suite import COLUMNS, GOOD, PAGE, gaps, page, rows, topics


def shown(topic: str) -> Table:
    """The table of a topic."""
    table = Table(title=topics()[topic], title_justify="left", show_lines=True, expand=True)
    for name, ratio in (
        ("attack", 3),
        ("what the verifier says, by what the adversary does", 5),
        ("a client in play", 3),
    ):
        table.add_column(name, ratio=ratio)
    for attack, *cells, client in rows(topic):
        said = Text("\n").join(
            Text.assemble((f"{name}: ", "dim"), (cell, "yellow" if "not seen" in cell else "green"))
            for name, cell in zip(COLUMNS, cells, strict=True)
            if cell
        )
        table.add_row(attack, said, client)
    return table


def _second(console: Console) -> list[str]:
    """What the second verifier sees otherwise than the first, beyond what it leaves to it."""
    verdicts = second_opinions(ATTEMPTS)
    if not verdicts:
        console.print("The second verifier was not asked: there is no Node.")
        return []
    left = [attempt for attempt in ATTEMPTS if left_to_the_first(attempt) and verdicts.get(attempt.id) in GOOD]
    console.print(f"The second verifier, in JavaScript, judged {len(verdicts)} of the files.", end=" ")
    console.print(f"{len(left)} forgeries it leaves to the first: in what follows from the rules, and readable copies.")
    return list(disagreements(verdicts))


def main() -> int:
    """Run the suite."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topic", choices=list(topics()), help="print the table of one topic")
    parser.add_argument("--update", action="store_true", help="write the page of the documentation anew")
    given = parser.parse_args()
    console = Console()
    for topic in [given.topic] if given.topic else topics():
        console.print(shown(topic))
    disagreeing = _second(console)
    if given.update:
        PAGE.write_text(page())
        console.print(f"written: {PAGE.name}")
    open_gaps = [*gaps(), *disagreeing]
    for gap in open_gaps:
        console.print(f"[bold red]gap[/] {gap}", highlight=False)
    console.print(f"{len(ATTACKS)} attacks, {len(ATTEMPTS)} variations, {len(open_gaps)} gaps")
    return 1 if open_gaps else 0


if __name__ == "__main__":
    raise SystemExit(main())
