"""The load of a benchmark, a process of its own: runs the scenario of a plan and says what it found.

Reads the plan as a line of JSON; says how far it is, and at the end the result, or why there is none.
"""

from __future__ import annotations

import asyncio
import gc
import os
import selectors
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import grpc
from sixledger.cli.bench import echo, pipes
from sixledger.cli.bench.matches import Caller
from sixledger.cli.bench.meter import Meter
from sixledger.cli.bench.plan import Plan
from sixledger.cli.bench.scenarios import SCENARIOS
from sixledger.cli.bench.scenarios.session import Session
from sixledger.cli.bench.window import Exhausted, Refused
from sixledger.cli.failures import one_line

_TELL_S = 0.2
_PATIENCE_S = 10.0


class _Teller:
    """Says how far the load is, a few times a second."""

    def __init__(self) -> None:
        self._last = ("", 0.0)

    def __call__(self, text: str, share: float) -> None:
        now = time.monotonic()
        if text != self._last[0] or now - self._last[1] > _TELL_S:
            self._last = (text, now)
            pipes.say(doing=text, share=round(share, 3))


async def _measure(plan: Plan) -> None:
    if plan.echo and not await _has_echo(plan):
        plan = replace(plan, echo=False)
    found = await SCENARIOS[plan.scenario](Session(plan, Meter(plan.server_pid, plan.database_pid), _Teller()))
    pipes.say(found=found.as_dict())


async def _has_echo(plan: Plan) -> bool:
    """Is it the server of a benchmark? Raises AioRpcError if nobody answers."""
    caller = Caller(plan.address, tls=plan.tls, key=plan.api_key, channels=1)
    try:
        call = caller.channel(0).unary_unary(echo.ECHO)
        await call(echo.request(100, 100), metadata=caller.metadata, timeout=_PATIENCE_S)
    except grpc.aio.AioRpcError as error:
        if error.code() == grpc.StatusCode.UNAVAILABLE:
            raise
        return False
    finally:
        await caller.close()
    return True


def _loop() -> asyncio.AbstractEventLoop:
    """A loop whose timers are exact to the microsecond; those of epoll and uvloop are a millisecond late."""
    return asyncio.SelectorEventLoop(selectors.SelectSelector())


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _reason(error: BaseException, plan: Plan) -> str:
    """What went wrong, for people."""
    first = next(_leaves(error))
    if isinstance(first, grpc.aio.AioRpcError):
        if first.code() == grpc.StatusCode.UNAVAILABLE:
            return f"no answer from {plan.address} ({first.code().name}); is it the right address?"
        return one_line(f"the server at {plan.address} refused: {first.code().name} {first.details() or ''}")
    if isinstance(first, Refused):
        return f"the server at {plan.address} refused: {first.status}"
    if isinstance(first, Exhausted):
        return "too few matches were prepared: too many commands failed"
    if isinstance(first, (ValueError, OSError)):
        return one_line(str(first))
    if os.environ.get("SIXLEDGER_DEBUG"):
        raise error
    return f"a defect of the load ({type(first).__name__}); SIXLEDGER_DEBUG=1 shows where it happened"


def main() -> int:
    """Run the scenario."""
    plan = Plan(**pipes.heard())
    pipes.when_left(lambda: os._exit(1))
    # A collection of everything would be a stall of the load, not of the server.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 50, 50)
    try:
        with asyncio.Runner(loop_factory=_loop) as runner:
            runner.run(_measure(plan))
    except Exception as error:
        pipes.say(failed=_reason(error, plan))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
