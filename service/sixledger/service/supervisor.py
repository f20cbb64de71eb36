"""Several processes of one program: started by fork, started again when one dies, stopped in order.

The process that supervises has one thread and no event loop, and never uses gRPC: whatever is forked off later starts
from the same clean state as what was forked off first. (gRPC must not be used before a fork; to import it is harmless.)
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

from sixledger.service.logs import Log, places
from sixledger.service.member import Member

#: What a member does; it ends when this returns. In its own process.
Work = Callable[[Member], None]

#: Seconds that a member must live for its death not to count as one right after the start.
_SHORT_LIFE_S = 5.0
#: Deaths in a row right after the start, while no other worker is ready, after which nothing is started any more.
_TRIES = 5
#: Seconds before a member that keeps dying is started again, at first and at most.
_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 10.0
#: Seconds beyond the grace after which a member that should stop is killed.
_PATIENCE_S = 10.0
#: Signals that stop everything.
_STOP = [signal.SIGINT, signal.SIGTERM]
#: Signals that workers hear of, and that mean to them what they mean to a server alone.
_PASS_ON = [signal.Signals[name] for name in ("SIGHUP",) if name in signal.Signals.__members__]


class MemberFailed(Exception):
    """A member could not start, and said why; its text is for people."""

    def __init__(self, text: str, status: int) -> None:
        """`status`: the exit status for the whole."""
        super().__init__(text)
        self.status = status


class GaveUp(Exception):
    """The members die right after they have started."""


@dataclass
class _Running:
    """A member as its supervisor sees it."""

    name: str
    work: Work
    #: Stops after all others, and does not count among the workers.
    is_last: bool = False
    pid: int = 0
    started: float = 0.0
    reports: int = -1
    control: int = -1
    #: What it said when it was ready; None: it is not.
    ready: str | None = None
    failure: MemberFailed | None = None
    short_lives: int = 0
    #: When to start it again, while it does not run.
    due: float = 0.0
    text: bytes = field(default=b"", repr=False)


class Supervisor:
    """Keeps members running until a signal comes. In the main thread of a process that has no other."""

    def __init__(self, workers: Sequence[Work], *, last: Work | None = None, grace_s: float = 10.0) -> None:
        """Members "1", "2", … do the work of `workers`; "operator" does that of `last`, and is stopped after them.

        After `grace_s` seconds, and some for cleaning up, a member that was told to stop is killed.
        """
        self._members = [_Running(str(number), work) for number, work in enumerate(workers, 1)]
        if last is not None:
            self._members.append(_Running("operator", last, is_last=True))
        self._grace_s = grace_s
        self._selector = selectors.DefaultSelector()
        self._signals = 0
        self._stopping = False
        self._kill_at = 0.0
        self._status = 0
        self._error: Exception | None = None
        self._log = Log("supervisor")

    def run(self, started: Callable[[dict[str, str]], None]) -> int:
        """Start everything, call `started` once all are ready with what each said, and serve until a signal.

        The exit status: 0 after an orderly stop, 1 if a member had to be killed or left with an error. Raises
        MemberFailed if one says, before all were ready, why it cannot start, and GaveUp.
        """
        if threading.active_count() != 1:
            raise RuntimeError("a process with several threads must not fork")
        told = False
        with self._selector, self._wakened():
            for member in self._members:
                self._start(member)
            while self._running() or not self._stopping:
                self._wait()
                self._reap(all_were_ready=told)
                if not self._stopping and not told and all(member.ready is not None for member in self._members):
                    told = True
                    started({member.name: member.ready or "" for member in self._members})
                self._restart()
        if self._error is not None:
            raise self._error
        return self._status

    # -- waiting -----------------------------------------------------------------------------------

    @contextmanager
    def _wakened(self) -> Iterator[None]:
        """Let signals end a wait instead of the process."""
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        os.set_blocking(writing, False)
        numbers = [*_STOP, *_PASS_ON, signal.SIGCHLD]
        # What would stop us and was ignored stays so.
        before = {number: signal.getsignal(number) for number in numbers}
        before = {number: old for number, old in before.items() if number in _PASS_ON or old is not signal.SIG_IGN}
        before.setdefault(signal.SIGCHLD, signal.SIG_DFL)
        for number in before:
            signal.signal(number, lambda *_: None)
        former = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        self._selector.register(reading, selectors.EVENT_READ, None)
        self._own = [reading, writing]
        try:
            yield
        finally:
            signal.set_wakeup_fd(former)
            for number, handler in before.items():
                signal.signal(number, handler)
            for handle in self._own:
                os.close(handle)

    def _wait(self) -> None:
        """Until something happens or is due."""
        for key, _ in self._selector.select(self._until_due()):
            if key.data is not None:
                self._hear(key.data)
                continue
            for number in os.read(key.fd, 4096):
                if number in _STOP:
                    self._signalled()
                elif number in _PASS_ON and not self._stopping:
                    self._pass_on(signal.Signals(number))
        if self._stopping and time.monotonic() >= self._kill_at:
            self._kill()

    def _until_due(self) -> float | None:
        now = time.monotonic()
        if self._stopping:
            return max(self._kill_at - now, 0.0)
        waits = [max(member.due - now, 0.0) for member in self._members if not member.pid]
        return min(waits, default=None)

    def _hear(self, member: _Running) -> None:
        """Read what a member reports."""
        data = os.read(member.reports, 65536)
        member.text += data
        if not data:
            self._selector.unregister(member.reports)
            os.close(member.reports)
            member.reports = -1
        *lines, member.text = member.text.split(b"\n")
        for line in lines:
            kind, text, status = json.loads(line)
            if kind == "ready":
                member.ready = text
                self._log.info("member_ready", member=member.name, pid=member.pid)
            else:
                member.failure = MemberFailed(text, status)

    # -- starting ----------------------------------------------------------------------------------

    def _start(self, member: _Running) -> None:
        """Fork a member off. Raises OSError, and leaves nothing behind then."""
        with ExitStack() as undone:
            reports, control = _pipe(undone), _pipe(undone)
            self._fork(member, reports, control)
            undone.pop_all()

    def _fork(self, member: _Running, reports: tuple[int, int], control: tuple[int, int]) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        held = {*_STOP, *_PASS_ON}
        # No signal may reach the child while it still has the handlers of its parent.
        signal.pthread_sigmask(signal.SIG_BLOCK, held)
        try:
            pid = os.fork()
        except OSError:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, held)
            raise
        if pid == 0:
            status = 1
            try:
                self._become(held, reports[0], control[1])
                status = _live(Member(member.name, reports[1], control[0]), member.work)
            finally:
                os._exit(status)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, held)
        os.close(reports[1])
        os.close(control[0])
        member.pid, member.reports, member.control = pid, reports[0], control[1]
        member.started, member.ready, member.failure, member.text = time.monotonic(), None, None, b""
        self._selector.register(member.reports, selectors.EVENT_READ, member)

    def _become(self, held: set[signal.Signals], *handles: int) -> None:
        """In a child that was just forked off: leave everything of the parent behind."""
        signal.set_wakeup_fd(-1)
        # A terminal and a service manager signal every process of a group; the supervisor alone decides what it means.
        for number in held:
            signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        open_ones = [handle for each in self._members for handle in (each.reports, each.control) if handle >= 0]
        for handle in (*handles, *open_ones, *self._own):
            os.close(handle)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, held)

    def _restart(self) -> None:
        """Start what is due."""
        now = time.monotonic()
        for member in self._members:
            if not self._stopping and not member.pid and member.due <= now:
                try:
                    self._start(member)
                except OSError as error:  # no memory, process or file to be had now; the others must not end for that
                    member.due = now + _LONGEST_PAUSE_S
                    self._log.error("member_not_started", member=member.name, error=error.strerror)
                else:
                    self._log.info("member_started_again", member=member.name)

    # -- ending ------------------------------------------------------------------------------------

    def _running(self) -> list[_Running]:
        return [member for member in self._members if member.pid]

    def _reap(self, *, all_were_ready: bool) -> None:
        """Take note of the members that have ended."""
        for member in self._running():
            pid, status = os.waitpid(member.pid, os.WNOHANG)
            if not pid:
                continue
            while member.reports >= 0:
                self._hear(member)  # to the end
            os.close(member.control)
            member.pid, member.control, member.ready = 0, -1, None
            code = os.waitstatus_to_exitcode(status)
            if self._stopping:
                # One that was stopped before it could listen for the signal has nothing to finish.
                self._status |= code not in (0, -signal.SIGTERM)
                self._stop_last()
            else:
                self._died(member, code, all_were_ready=all_were_ready)

    def _died(self, member: _Running, code: int, *, all_were_ready: bool) -> None:
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        if member.failure is not None:
            how = str(member.failure)
            if not all_were_ready:
                self._stop(member.failure)
                return
        lived = time.monotonic() - member.started
        member.short_lives = member.short_lives + 1 if lived < _SHORT_LIFE_S else 0
        others = [other for other in self._members if other.ready is not None and not other.is_last]
        if member.short_lives >= _TRIES and not others:
            text = f"gave up: worker {member.name} died {_TRIES} times right after its start, the last time by: {how}"
            self._stop(GaveUp(text))
            return
        pause = min(_PAUSE_S * 2 ** (member.short_lives - 1), _LONGEST_PAUSE_S) if member.short_lives else 0.0
        member.due = time.monotonic() + pause
        self._log.error("member_died", member=member.name, how=how, again_in_s=pause)

    def _signalled(self) -> None:
        """The first signal stops in order, the second cuts running calls off, the third kills."""
        self._signals += 1
        if self._signals == 1:
            self._stop()
        elif self._signals == 2:
            for member in self._running():
                with suppress(BrokenPipeError):  # it has just ended
                    os.write(member.control, b"!")
        else:
            self._kill()

    def _pass_on(self, number: signal.Signals) -> None:
        for member in self._running():
            os.kill(member.pid, number)

    def _stop(self, error: Exception | None = None) -> None:
        if self._stopping:
            return
        self._log.info("stopping")
        self._stopping, self._error = True, error
        self._kill_at = time.monotonic() + self._grace_s + _PATIENCE_S
        for member in self._running():
            if not member.is_last:
                os.kill(member.pid, signal.SIGTERM)
        self._stop_last()

    def _stop_last(self) -> None:
        """Stop the members that go last, once they are alone."""
        if all(member.is_last for member in self._running()):
            for member in self._running():
                os.kill(member.pid, signal.SIGTERM)

    def _kill(self) -> None:
        self._kill_at = time.monotonic() + _PATIENCE_S
        for member in self._running():
            self._log.error("member_killed", member=member.name, hint="it did not stop in time")
            os.kill(member.pid, signal.SIGKILL)


def _pipe(undone: ExitStack) -> tuple[int, int]:
    """A pipe that `undone` closes."""
    reading, writing = os.pipe()
    undone.callback(os.close, reading)
    undone.callback(os.close, writing)
    return reading, writing


def _live(member: Member, work: Work) -> int:
    """A member's life; its exit status."""
    try:
        work(member)
    except MemberFailed as failure:
        member.failed(str(failure), failure.status)
        return 1
    except BaseException as error:
        # Its text may hold anything: only its kind and its places are told.
        Log("supervisor").error("crashed", type=type(error).__name__, at=places(error.__traceback__))
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0
