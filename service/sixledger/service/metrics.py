"""What a server counts, for Prometheus. docs/how-to/observe.md describes every metric.

A server has these only if it has an operator port. Children are looked up once and kept: to look one up for every
call would cost more than to count. No label holds a match, a seat, a name, a key or an address.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily
from sixledger.engine.version import __version__
from sixledger.ledger.match import Match
from sixledger.ledger.origin_signer import OriginSigner
from sixledger.service.errors import Reason, contract
from sixledger.v1 import engine_service_pb2, match_service_pb2, replay_service_pb2

#: Seconds: from what memory answers to what a caller gives up on.
_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
#: Seconds of a replay.
_LONG_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Cache(Protocol):
    """What is asked of the cache of matches."""

    hits: int
    misses: int
    evictions: int

    def matches(self) -> Iterable[Match]:
        """The matches in memory."""
        ...


class Metrics:
    """The metrics of one server."""

    def __init__(self) -> None:
        """Nothing has happened yet."""
        self.registry = registry = CollectorRegistry()
        Gauge("sixledger_build_info", "1; the version is the label.", ["version"], registry=registry).labels(
            __version__
        ).set(1)
        self._calls = Counter(
            "sixledger_calls", "Calls that have ended, streams included.", ["method", "code"], registry=registry
        )
        self._call_seconds = Histogram(
            "sixledger_call_seconds",
            "Time of calls with one reply, successful or not.",
            ["method"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._streams = Gauge("sixledger_streams", "Streams of replies that are open.", ["method"], registry=registry)
        rejected = Counter(
            "sixledger_rejected",
            "Refused calls, and refused items of streams and batches.",
            ["reason"],
            registry=registry,
        )
        self._rejected = {number: rejected.labels(contract(number).name) for number in Reason.values() if number}
        phases = Histogram(
            "sixledger_act_seconds",
            "Time of an act (command, join, …) by phase; sign: of every signed head.",
            ["phase"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._decided, self._stored, self._signed = (
            phases.labels(phase).observe for phase in ("decide", "store", "sign")
        )
        acts = Counter("sixledger_acts", "Acts whose record is durable.", ["action"], registry=registry)
        self._acts = {name: acts.labels(name).inc for name in _ACTIONS}
        self._timer_lag = Histogram(
            "sixledger_timer_lag_seconds",
            "Time from a deadline until its timer fired.",
            buckets=_SECONDS,
            registry=registry,
        ).observe
        lag = Histogram(
            "sixledger_news_lag_seconds",
            "Time from a record of another server until those who follow the match here were woken.",
            ["found_by"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._news = {found_by: lag.labels(found_by).observe for found_by in ("wakeup", "look")}
        self._ready = Gauge(
            "sixledger_ready", "1 while the server takes calls and its store answers.", registry=registry
        )
        self.conflict = Counter(
            "sixledger_store_conflicts", "Appends that lost their number to another replica.", registry=registry
        ).inc
        self._batch = Histogram(
            "sixledger_store_batch_appends", "Appends of one flush.", buckets=_SIZES, registry=registry
        ).observe
        self._flush = Histogram(
            "sixledger_store_flush_seconds", "Time of a flush.", buckets=_SECONDS, registry=registry
        ).observe
        self._watchers = Gauge("sixledger_watchers", "Views of matches that are followed.", registry=registry)
        matches = Gauge("sixledger_matches", "Matches in memory.", ["status"], registry=registry)
        changes = Counter(
            "sixledger_match_changes", "Matches that this server brought into a status.", ["status"], registry=registry
        )
        self._matches = {number: matches.labels(_status(number)) for number in _STATUSES}
        self._changes = {number: changes.labels(_status(number)) for number in _STATUSES}
        verifications = Counter(
            "sixledger_verifications", "Ledgers that were verified.", ["verdict"], registry=registry
        )
        self._verdicts = {number: verifications.labels(_verdict(number)) for number in _VERDICTS}
        self._verification = Histogram(
            "sixledger_verification_seconds",
            "Time of a verification, waiting for its turn included.",
            buckets=_LONG_SECONDS,
            registry=registry,
        ).observe
        self._cache: Cache | None = None
        self._count_watchers: Callable[[], int] = int
        registry.register(_CacheLookups(self))
        ProcessCollector(registry=registry)

    # -- what happens ------------------------------------------------------------------------------

    def call(self, method: str) -> CallMeter:
        """The meter of one method: keep it."""
        return CallMeter(self._calls, method, self._call_seconds.labels(method).observe, self._streams)

    def rejected(self, reason: Reason.ValueType) -> None:
        """A call, or an item of one, was refused."""
        self._rejected[reason].inc()

    def acted(self, action: str | None, decide_s: float, store_s: float) -> None:
        """The record of an act is durable. `action` is the field of Action that says what was done."""
        if action is not None:
            self._acts[action]()
        self._decided(decide_s)
        self._stored(store_s)

    def signed(self, seconds: float) -> None:
        """A head was signed."""
        self._signed(seconds)

    def fired(self, seconds: float) -> None:
        """A timer fired so long after its deadline, and its record is durable."""
        self._acts["fire"]()
        self._timer_lag(seconds)

    def news(self, found_by: str, seconds: float) -> None:
        """A record of another server was found so long after it was made; by the clocks of both, which may differ."""
        self._news[found_by](max(seconds, 0.0))

    def ready(self, is_ready: bool) -> None:
        """The server is ready for calls, or is not."""
        self._ready.set(is_ready)

    def flushed(self, appends: int, seconds: float) -> None:
        """The store has made a batch durable. From any thread."""
        self._batch(appends)
        self._flush(seconds)

    def changed(self, status: match_service_pb2.MatchStatus.ValueType) -> None:
        """This server brought a match into a status."""
        self._changes[status].inc()

    def verified(self, verdict: replay_service_pb2.Verdict.ValueType, seconds: float) -> None:
        """A ledger was verified."""
        self._verdicts[verdict].inc()
        self._verification(seconds)

    # -- what is ----------------------------------------------------------------------------------

    def look_at(self, cache: Cache, watchers: Callable[[], int]) -> None:
        """Ask these when somebody wants to know."""
        self._cache = cache
        self._count_watchers = watchers

    def refresh(self) -> None:
        """Take down what is now. In the loop of the server; `text` may then be called in any thread."""
        self._watchers.set(self._count_watchers())
        if self._cache is not None:
            found = Tally(match.status for match in self._cache.matches())
            for status, gauge in self._matches.items():
                gauge.set(found[status])

    def lookups(self) -> tuple[int, int, int]:
        """Hits, misses and evictions of the cache."""
        cache = self._cache
        return (cache.hits, cache.misses, cache.evictions) if cache is not None else (0, 0, 0)

    def text(self) -> bytes:
        """Everything in the text format of Prometheus, of type CONTENT_TYPE."""
        return generate_latest(self.registry)


class CallMeter:
    """Counts the calls of one method."""

    __slots__ = ("_calls", "_codes", "_method", "_ok", "_open", "_streams", "observe")

    def __init__(self, calls: Counter, method: str, observe: Callable[[float], None], streams: Gauge) -> None:
        """Made by Metrics.call."""
        self._calls = calls
        self._method = method
        self._codes: dict[str, Callable[[], None]] = {}
        self._streams = streams
        self._open: Gauge | None = None
        #: Notes how many seconds a call with one reply took.
        self.observe = observe
        self._ok: Callable[[], None] = calls.labels(method, "OK").inc

    def ended(self, code: str = "OK") -> None:
        """A call has ended with a status code."""
        if code == "OK":
            self._ok()
            return
        count = self._codes.get(code)
        if count is None:
            count = self._codes[code] = self._calls.labels(self._method, code).inc
        count()

    def opened(self, streams: int) -> None:
        """So many streams more are open; -1: one has ended."""
        if self._open is None:
            self._open = self._streams.labels(self._method)
        self._open.inc(streams)


class _CacheLookups:
    """Tells what the cache has counted itself: an addition costs less there."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[CounterMetricFamily]:
        """Called for every look."""
        family = CounterMetricFamily("sixledger_cache_lookups", "Looks for a match in memory.", labels=["result"])
        hits, misses, evictions = self._metrics.lookups()
        family.add_metric(["hit"], hits)
        family.add_metric(["miss"], misses)
        yield family
        yield CounterMetricFamily(
            "sixledger_cache_evictions", "Matches that left memory to make room for others.", value=evictions
        )

    def describe(self) -> Iterable[CounterMetricFamily]:
        """What `collect` will tell."""
        return self.collect()


class TimedSigner(OriginSigner):
    """Signs heads, and tells how long it took."""

    #: Gets the seconds of each signature.
    signed: Callable[[float], None]

    def sign(self, match_id: bytes, count: int, record_hash: bytes, time_us: int) -> str:
        """As OriginSigner.sign."""
        begun = perf_counter()
        note = super().sign(match_id, count, record_hash, time_us)
        self.signed(perf_counter() - begun)
        return note


_ACTIONS = [field.name for field in engine_service_pb2.Action.DESCRIPTOR.oneofs_by_name["action"].fields]
_STATUSES = [number for number in match_service_pb2.MatchStatus.values() if number]
_VERDICTS = [number for number in replay_service_pb2.Verdict.values() if number]


def _status(number: match_service_pb2.MatchStatus.ValueType) -> str:
    return match_service_pb2.MatchStatus.Name(number).removeprefix("MATCH_STATUS_").lower()


def _verdict(number: replay_service_pb2.Verdict.ValueType) -> str:
    return replay_service_pb2.Verdict.Name(number).removeprefix("VERDICT_").lower()
