"""Fuzz every target with coverage for a while: `make fuzz`, or `python tests/fuzz/run.py [TARGET…] [--seconds N]`.

Needs atheris (dependency group `fuzz`). Each target runs in a process of its own that may take 1 GiB of memory and
20 seconds for one input. An input that is answered by anything but a verdict or a typed error is written to the folder,
and `python tests/fuzz/run.py --one TARGET FILE` tries it again; `tests/fuzz/targets.py` tells what each one is.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

MEMORY_MIB, INPUT_S = 1024, 20
#: Marks the process that fuzzes one target; the options of the fuzzer follow.
_INSIDE = "--inside"


def main() -> int:
    """Fuzz, or try one input; exit status 1 if something was found."""
    parser = argparse.ArgumentParser(description="Fuzz the readers, the verifier, the client and the Replay call.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="default: all")
    parser.add_argument("--seconds", type=int, default=60, help="for each target (default 60)")
    parser.add_argument("--folder", type=Path, default=Path("out/fuzz"), help="for what was found")
    parser.add_argument("--one", nargs=2, metavar=("TARGET", "FILE"), help="try one input and show what it raises")
    if sys.argv[1:2] == [_INSIDE]:
        _fuzz(sys.argv[2], sys.argv[3:])
    given = parser.parse_args()
    if given.one:
        from fuzz.targets import TARGETS

        TARGETS[given.one[0]](Path(given.one[1]).read_bytes())
        return 0
    return _fuzz_all(given)


def _fuzz_all(given: argparse.Namespace) -> int:
    from fuzz.targets import TARGETS, inputs

    if unknown := set(given.targets) - set(TARGETS):
        sys.stderr.write(f"no target {', '.join(sorted(unknown))}; there are: {', '.join(TARGETS)}\n")
        return 2
    found = []
    for name in given.targets or TARGETS:
        corpus = given.folder / name / "corpus"
        corpus.mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(inputs(name)):
            (corpus / f"seed-{number:03}").write_bytes(data)
        sys.stderr.write(f"fuzzing {name} for {given.seconds} s\n")
        limits = [f"-max_total_time={given.seconds}", f"-rss_limit_mb={MEMORY_MIB}", f"-timeout={INPUT_S}"]
        options = [
            *limits,
            "-max_len=200000",
            f"-artifact_prefix={corpus.parent}/",
            "-print_final_stats=1",
            "-verbosity=0",
        ]
        command = [sys.executable, __file__, _INSIDE, name, *options, str(corpus)]
        if subprocess.run(command, check=False).returncode:
            found.append(name)
    sys.stderr.write(f"found something in: {', '.join(found)} (see {given.folder})\n" if found else "found nothing\n")
    return 1 if found else 0


def _fuzz(name: str, options: list[str]) -> None:
    """In a process of its own; does not return."""
    try:
        import atheris
    except ModuleNotFoundError:
        sys.exit("fuzzing needs atheris, which there is for Linux: pip install --group fuzz")

    with atheris.instrument_imports(include=["sixledger"]):
        from fuzz.targets import TARGETS

    atheris.Setup([sys.argv[0], *options], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    raise SystemExit(main())
