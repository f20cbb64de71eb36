"""The command `sixledger`: its sub-commands and what happens when one fails.

Sub-commands are imported when they are called, so that `sixledger --help` answers at once and a missing
extra matters only to the commands that need it.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError
from sixledger.cli.failures import INVALID, OK, QUIT, UNUSABLE, Failure, one_line
from sixledger.cli.terminal import complain
from sixledger.engine.errors import EngineError
from sixledger.engine.version import __version__

#: Name, where the command lives, one line of help.
COMMANDS = (
    ("play", "sixledger.cli.play:play", "Play a game against bots, here or on a server."),
    ("demo", "sixledger.cli.demo:demo", "Show a whole match: server, signed bots, ledger, proof."),
    ("watch", "sixledger.cli.watch:watch", "Follow a match on a server as it happens."),
    ("verify", "sixledger.cli.verify:verify", "Prove that ledgers are what was played, or name what is wrong."),
    ("export", "sixledger.cli.export:export", "Save the ledger of a match from a server."),
    ("simulate", "sixledger.cli.simulate:simulate", "Play many matches of bots and count."),
    ("serve", "sixledger.cli.serve:serve", "Run the server."),
    ("games", "sixledger.cli.games:app", "List the games; show rules and options of one."),
    ("keys", "sixledger.cli.keys:app", "See and manage keys: trusted servers, own server key."),
)

app = App(
    name="sixledger",
    help="Card games with hidden hands, and a ledger that proves what happened at the table.",
    help_epilogue="Begin with `sixledger play nimmt`, or see everything at once with `sixledger demo`.",
    help_format="markdown",
    version=__version__,
    suppress_keyboard_interrupt=False,
)
for _name, _where, _help in COMMANDS:
    app.command(_where, name=_name, help=_help)


def run(arguments: Sequence[str]) -> int:
    """Run one command line; the exit status. Every failure is one line on the standard error."""
    try:
        result = app(
            list(arguments), print_error=False, exit_on_error=False, result_action="return_value", help_on_error=False
        )
    except Failure as error:
        complain(one_line(error.message))
        return error.status
    except CycloptsError as error:
        complain(f"{one_line(str(error))} (add --help to see what is possible)")
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


def main() -> None:
    """Entry point of the console script."""
    raise SystemExit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
