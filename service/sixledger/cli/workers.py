"""`sixledger serve --workers N`: several processes behind one address, on one database, with the same keys."""

from __future__ import annotations

import asyncio
import gc
import importlib
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

from sixledger.cli.failures import INVALID, Failure, one_line, unusable
from sixledger.cli.serve import plainly
from sixledger.ledger.origin_signer import OriginSigner
from sixledger.service import logs
from sixledger.service.config import Settings
from sixledger.service.keyring import Keyring
from sixledger.service.member import Member
from sixledger.service.process import loop_factory, run
from sixledger.service.supervisor import GaveUp, MemberFailed, Supervisor, Work

#: Told once everything answers: settings, address, who signs, address of the operator port (empty: there is none).
Started = Callable[[Settings, str, OriginSigner, str], None]


def serve_workers(settings: Settings, started: Started) -> int:
    """Serve with `settings.workers` processes until a signal; the exit status.

    Raises Failure, ValueError or OSError.
    """
    if not hasattr(os, "fork") or not hasattr(socket, "SO_REUSEPORT"):
        raise unusable("this system cannot let several processes share a port: let workers be 1")
    logs.configure(settings.log_level, worker="supervisor")
    # Made once and kept: workers take up no others but those that follow from these, also if they are started later.
    keyring = Keyring.generate() if settings.key_path is None else Keyring.load_or_create(settings.key_path)
    settings.seal()  # says at once what is wrong with it
    with ExitStack() as resources:
        port = resources.enter_context(reserved(settings.listen))
        settings = replace(settings, listen=f"{settings.listen.rpartition(':')[0]}:{port}")
        origin = settings.origin or settings.listen
        signer = OriginSigner(keyring.signing_keys, keyring.signed_list(origin))
        operator, inner = "", {}
        if settings.admin_listen:
            operator = settings.admin_listen
            folder = resources.enter_context(tempfile.TemporaryDirectory(prefix="sixledger-"))  # for this user alone
            inner = {str(number): f"unix:{Path(folder) / str(number)}" for number in range(1, settings.workers + 1)}
        workers = [_worker(settings, keyring, inner.get(str(n), "")) for n in range(1, settings.workers + 1)]
        last = _operator(operator, inner, settings.log_level) if operator else None
        supervisor = Supervisor(workers, last=last, grace_s=settings.grace_s)
        _prepare(settings)
        try:
            return supervisor.run(lambda said: started(settings, settings.listen, signer, said.get("operator", "")))
        except MemberFailed as error:
            raise Failure(str(error), error.status) from None
        except GaveUp as error:
            raise Failure(str(error)) from None


def _worker(settings: Settings, keyring: Keyring, admin: str) -> Work:
    own = replace(settings, admin_listen=admin)

    def work(member: Member) -> None:
        with _failures():
            run(own, started=lambda server: member.ready(server.address), keyring=keyring, member=member)

    return work


def _operator(address: str, workers: dict[str, str], level: str) -> Work:
    from sixledger.service.workers_port import WorkersPort

    async def serve(member: Member) -> None:
        port = WorkersPort(address, workers)
        listener = await port.listen()
        stopped = asyncio.Event()
        member.listen(stop=stopped.set, cut=stopped.set)
        member.ready(port.address)
        await stopped.wait()
        await port.close(listener)

    def work(member: Member) -> None:
        logs.configure(level, worker=member.name)
        with _failures(), asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(serve(member))

    return work


@contextmanager
def _failures() -> Iterator[None]:
    """What a member may say at its start, in the words that one server alone would use."""
    try:
        with plainly():
            yield
    except Failure as failure:
        raise MemberFailed(failure.message, failure.status) from None
    except OSError as error:
        text = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        raise MemberFailed(one_line(text), INVALID) from None


def _prepare(settings: Settings) -> None:
    """Import what workers will need, and freeze it: they share its memory, and are ready the sooner."""
    for name in ("sixledger.service.store.postgres", "uvloop"):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            continue  # whoever needs it says what to install
    if settings.admin_listen:
        importlib.import_module("sixledger.service.admin_port")
    gc.collect()
    gc.freeze()


@contextmanager
def reserved(listen: str) -> Iterator[int]:
    """Hold the port of `HOST:PORT` for processes that share it; its number. Raises OSError.

    Nothing listens on the sockets that hold it, so no connection ever waits there.
    """
    host, colon, port = listen.rpartition(":")
    wrong = OSError(f"cannot listen on {listen}: is the address right, and free?")
    if not colon or not port.isdecimal():
        raise wrong
    number = int(port)
    try:
        found = socket.getaddrinfo(host.strip("[]") or None, number, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError:
        raise wrong from None
    places = dict.fromkeys((family, address) for family, _, _, _, address in found)
    with ExitStack() as sockets:
        try:
            for family, address in places:
                # Nobody else may be there, not even somebody who would share.
                with socket.socket(family, socket.SOCK_STREAM) as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind((address[0], number, *address[2:]))
                    number = probe.getsockname()[1]
                held = sockets.enter_context(closing(socket.socket(family, socket.SOCK_STREAM)))
                if family == socket.AF_INET6 and len(places) > 1:
                    held.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                held.bind((address[0], number, *address[2:]))
        except OSError:
            raise wrong from None
        yield number
