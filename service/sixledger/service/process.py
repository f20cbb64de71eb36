"""A server as a process of its own: signals, event loop and garbage collector are its."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Callable

from sixledger.service import logs
from sixledger.service.config import Settings
from sixledger.service.keyring import Keyring
from sixledger.service.member import Member
from sixledger.service.server import Server


def run(
    settings: Settings,
    *,
    started: Callable[[Server], None] | None = None,
    keyring: Keyring | None = None,
    member: Member | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM; a second one cuts running calls off.

    `started` is called once the server answers. A `member` of several processes with the same `keyring` stops when its
    supervisor says so. Uses uvloop where it is installed. Raises what `Server.start` raises.
    """
    logs.configure(settings.log_level, worker=member.name if member is not None else None)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_serve(settings, started, keyring, member))


async def _serve(
    settings: Settings, started: Callable[[Server], None] | None, keyring: Keyring | None, member: Member | None
) -> None:
    signalled = asyncio.Event()
    server = Server(settings, keyring=keyring, follow_keys=True)
    # Before anything is opened: from the first call that is answered on, a signal must not cut it off.
    _heed_signals(server, signalled, member)
    if not await _started(server, signalled):
        return
    # Everything that lives now lives to the end: the collector need not look at it again.
    gc.collect()
    gc.freeze()
    # Hardly anything here becomes garbage in rings. What the collector looks at are matches that came into memory: a
    # little at a time, so that nobody waits long. A look at all of them costs some 20 µs a match and is rare.
    gc.set_threshold(5_000, 10, 20)
    if started is not None:
        started(server)
    await signalled.wait()
    await server.stop()


def _heed_signals(server: Server, signalled: asyncio.Event, member: Member | None) -> None:
    """From now on set `signalled` when the process shall end, and take up changed keys at SIGHUP."""

    def on_signal() -> None:
        if signalled.is_set():
            server.gate.give_up()
        signalled.set()

    def on_hangup() -> None:
        # A server that has no key watch yet reads the keys afterwards.
        if hasattr(server, "key_watch"):
            server.key_watch.look()

    loop = asyncio.get_running_loop()
    if member is not None:
        member.listen(stop=signalled.set, cut=server.gate.give_up)
    for number in (signal.SIGINT, signal.SIGTERM) if member is None else ():
        try:
            loop.add_signal_handler(number, on_signal)
        except NotImplementedError:  # on Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(on_signal))
    if hasattr(signal, "SIGHUP"):  # not on Windows, where only the regular look takes up changed keys
        loop.add_signal_handler(signal.SIGHUP, on_hangup)


async def _started(server: Server, signalled: asyncio.Event) -> bool:
    """Start; False if a signal came first and everything is closed again. Raises what `Server.start` raises."""
    starting, told = asyncio.ensure_future(server.start()), asyncio.ensure_future(signalled.wait())
    try:
        await asyncio.wait({starting, told}, return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
            await asyncio.wait({starting})
        if starting.cancelled():
            logs.Log("server").info("stopped", hint="before it had started")
            return False
        starting.result()
    finally:
        told.cancel()
    return True


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes event loops: uvloop where it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
