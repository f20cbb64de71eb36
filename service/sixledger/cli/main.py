"""The command `sixledger`: its sub-commands and what happens when one fails.

Sub-commands are imported when they are called, so that `sixledger --help` answers at once and a missing
extra matters only to the commands that need it.
"""

from __future__ import annotations

import inspect
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from difflib import get_close_matches

from cyclopts import App, CycloptsError, UnknownCommandError, UnusedCliTokensError
from sixledger.cli.failures import INVALID, OK, QUIT, UNUSABLE, Failure, one_line
from sixledger.cli.terminal import complain
from sixledger.engine.errors import EngineError
from sixledger.engine.version import __version__

#: Name, where the command lives, one line of help, examples.
COMMANDS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    (
        "play",
        "sixledger.cli.play:play",
        "Play a game against bots, here or on a server.",
        (
            "play nimmt",
            "play nimmt --bots 5 --option limit=30",
            "play piece",
            "play nimmt --preset amigo --server localhost:7655",
            "play nimmt --server localhost:7655 --join",
            "play nimmt --server localhost:7655 --table 3f0c… --invitation sixl_…",
        ),
    ),
    (
        "tables",
        "sixledger.cli.tables:tables",
        "List the open tables of a server.",
        ("tables", "tables --server localhost:7655 --game nimmt", "tables --mine --json"),
    ),
    (
        "bot",
        "sixledger.cli.bots.command:bot",
        "Let a policy of yours play on a server.",
        (
            "bot --game nimmt --policy my_module:choose --server localhost:7655",
            "bot --policy heuristic --matches 100 --jobs 4 --seats 4",
            "bot --match 3f0c… --policy my_module:Cautious --on-crash leave",
        ),
    ),
    (
        "demo",
        "sixledger.cli.demo:demo",
        "Show a whole match: server, signed bots, ledger, proof.",
        ("demo", "demo --seats 6 --preset amigo", "demo --game forces", "demo --fast --seed 7 --out out"),
    ),
    (
        "watch",
        "sixledger.cli.watch:watch",
        "Follow a match on a server as it happens.",
        ("watch 3f0c…", "watch 3f0c… --server localhost:7655", "watch 3f0c… --credentials seat-0.json"),
    ),
    (
        "replay",
        "sixledger.cli.replay.command:replay",
        "Step through a match, from a ledger file or live from a server.",
        (
            "replay out/match.ledger.jsonl",
            "replay match.ledger.jsonl --seat 2 --key server.vkey",
            "replay match.ledger.jsonl --all --plain",
            "replay 3f0c… --server localhost:7655",
        ),
    ),
    (
        "verify",
        "sixledger.cli.verify:verify",
        "Prove that ledgers are what was played, or name what is wrong.",
        (
            "verify out/match.ledger.jsonl",
            "verify *.ledger.jsonl --key server.vkey",
            "verify match.ledger.jsonl --receipt seat-0.3f0c12ab34cd.head",
            "verify ledgers/ --jobs 4",
            "verify match.ledger.jsonl --json",
        ),
    ),
    (
        "compare",
        "sixledger.cli.compare:compare",
        "Find out whether two exports of a match tell the same, and who signed what.",
        (
            "compare mine.ledger.jsonl yours.ledger.jsonl",
            "compare match.ledger.jsonl seat-0.3f0c12ab34cd.head --key server.vkey",
            "compare mine.head yours.head --key server.vkey --json",
        ),
    ),
    (
        "dispute",
        "sixledger.cli.dispute.command:dispute",
        "Write a report for people that settles a dispute about a match.",
        (
            "dispute match.ledger.jsonl --key server.vkey -o report.html",
            "dispute match.ledger.jsonl --receipt seat-0.3f0c12ab34cd.head",
            "dispute mine.ledger.jsonl --export yours.ledger.jsonl --json",
        ),
    ),
    (
        "export",
        "sixledger.cli.export:export",
        "Save the ledger of a match from a server.",
        ("export 3f0c…", "export 3f0c… -o match.ledger.jsonl.gz --credentials seat-0.json"),
    ),
    (
        "simulate",
        "sixledger.cli.simulate:simulate",
        "Play many matches of bots and count.",
        (
            "simulate nimmt --matches 10000",
            "simulate nimmt --policy heuristic --policy random --players 6 --seed 1",
            "simulate nimmt --option end_mode=rounds --json",
        ),
    ),
    (
        "serve",
        "sixledger.cli.serve:serve",
        "Run the server.",
        (
            "serve",
            "serve --store memory:",
            "serve --listen 0.0.0.0:7655 --data-dir /var/lib/sixledger --origin example.org",
        ),
    ),
    (
        "db",
        "sixledger.cli.db:app",
        "Look after the tables of a store in PostgreSQL.",
        (),
    ),
    (
        "health",
        "sixledger.cli.health:health",
        "Ask a server whether it lives or takes calls.",
        ("health", "health --ready localhost:7655", "health --ready 127.0.0.1:9090"),
    ),
    (
        "bench",
        "sixledger.cli.bench.command:bench",
        "Measure what a server takes, and how long it takes.",
        (
            "bench unary --quick",
            "bench unary play --store memory --json found.json --picture found.svg",
            "bench watchers --count 1000 --rate 5 --seconds 30",
            "bench unary --rate 2000 --arrivals fixed",
            "bench all --store postgres",
            "bench churn --server localhost:7655",
        ),
    ),
    (
        "games",
        "sixledger.cli.games:app",
        "List the games; show rules and options of one.",
        (),
    ),
    (
        "rulesets",
        "sixledger.cli.rulesets:rulesets",
        "List the rulesets that this build replays and verifies.",
        ("rulesets", "rulesets --json"),
    ),
    (
        "admin",
        "sixledger.cli.admin:app",
        "Manage a server: API keys, archive, sealed secrets, restored matches, names.",
        (),
    ),
    (
        "keys",
        "sixledger.cli.keys:app",
        "See and manage keys: trusted servers, own server key.",
        (),
    ),
)


def examples(*lines: str) -> str:
    """The examples at the end of a command's help."""
    return "Examples:\n\n" + "\n".join(f"    sixledger {line}" for line in lines)


app = App(
    name="sixledger",
    help="Card games with hidden hands, and a ledger that proves what happened at the table.",
    help_epilogue="Begin with `sixledger play nimmt`, or see everything at once with `sixledger demo`.",
    help_format="markdown",
    version=__version__,
    suppress_keyboard_interrupt=False,
)
#: The commands whose help here is a line; the others are an App, which brings its own.
_WITH_LINE = frozenset(name for name, _, _, examples in COMMANDS if examples)
for _name, _where, _help, _examples in COMMANDS:
    if _examples:
        app.command(_where, name=_name, help=_help, help_epilogue=examples(*_examples))
    else:
        app.command(_where, name=_name, help=_help)  # an App, which brings its own


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Meanwhile the help of a command says all that its function does; in the list of commands it has a line.

    Imports the command.
    """
    command = app[name]
    line = command.help
    command.help = inspect.getdoc(command.default_command) or line
    try:
        yield
    finally:
        command.help = line


def run(arguments: Sequence[str]) -> int:
    """Run one command line; the exit status. Every failure is one line on the standard error."""
    try:
        with explained(arguments[0]) if _asks_for_help(arguments) else nullcontext():
            result = app(
                list(arguments),
                print_error=False,
                exit_on_error=False,
                result_action="return_value",
                help_on_error=False,
            )
    except Failure as error:
        complain(one_line(error.message))
        return error.status
    except CycloptsError as error:
        complain(f"{one_line(_usage(error))} (add --help to see what is possible)")
        return UNUSABLE
    except EngineError as error:
        complain(one_line(str(error)))
        return UNUSABLE
    except KeyboardInterrupt:
        return QUIT
    except BrokenPipeError:
        # The reader has gone (`sixledger games | head`); nothing can be said to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except ModuleNotFoundError as error:
        complain(f"this command needs the package {error.name}; install it with: pip install 'sixledger[cli]'")
        return INVALID
    except OSError as error:
        complain(one_line(f"{error.filename}: {error.strerror}" if error.filename else str(error)))
        return INVALID
    except Exception as error:
        # The text of an unforeseen error may hold anything, secrets included: only its kind is told.
        if os.environ.get("SIXLEDGER_DEBUG"):
            raise
        complain(f"a defect of sixledger ({type(error).__name__}); SIXLEDGER_DEBUG=1 shows where it happened")
        return INVALID
    return result if isinstance(result, int) else OK


def _asks_for_help(arguments: Sequence[str]) -> bool:
    """True for the help of a command that has but a line of it here."""
    return bool(arguments) and arguments[0] in _WITH_LINE and not {"--help", "-h"}.isdisjoint(arguments)


def _usage(error: CycloptsError) -> str:
    """What is wrong with the command line, without importing every command to say so."""
    if isinstance(error, UnusedCliTokensError) and not isinstance(error, UnknownCommandError) and error.unused_tokens:
        return f"nothing can be done with {', '.join(map(repr, error.unused_tokens))}: the command takes no more"
    if not isinstance(error, UnknownCommandError) or not error.unused_tokens:
        return str(error)
    word = error.unused_tokens[0]
    near = get_close_matches(word, [name for name, *_ in COMMANDS], 1)
    return f"there is no command {word!r}" + (f"; did you mean {near[0]!r}?" if near else "")


def main() -> None:
    """Entry point of the console script."""
    # gRPC's own log lines would stand beside the one line that says what is wrong.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    raise SystemExit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
