"""Building, running and stopping a server.

    async with Server(Settings(listen="127.0.0.1:0", store="memory:")) as server:
        print(server.address)

`sixledger.service.process.run` does it for a process of its own, until a signal comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Self

import grpc.aio
from grpc_health.v1 import health, health_pb2_grpc
from grpc_health.v1._async import HealthServicer
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc
from grpc_reflection.v1alpha._async import ReflectionServicer
from sixledger.engine.version import __version__
from sixledger.ledger.origin_signer import OriginSigner
from sixledger.service import logs
from sixledger.service.access_servicer import AccessServicer
from sixledger.service.admission import Admission
from sixledger.service.api_keys import ApiKeys
from sixledger.service.binding import handler_of
from sixledger.service.catalog_servicer import CatalogServicer
from sixledger.service.config import Settings
from sixledger.service.engine_servicer import EngineServicer
from sixledger.service.host import MatchHost
from sixledger.service.interceptor import Gate
from sixledger.service.key_watch import KeyWatch
from sixledger.service.keyring import Keyring
from sixledger.service.lobby import OwnerRules
from sixledger.service.match_servicer import MatchServicer
from sixledger.service.matches import wall_clock
from sixledger.service.news import News
from sixledger.service.play import PlayLimits
from sixledger.service.readiness import Readiness
from sixledger.service.replay_servicer import ReplayServicer
from sixledger.service.store import Store, open_store
from sixledger.service.timekeeper import Timekeeper
from sixledger.service.tokens import TokenMint
from sixledger.service.transport import transport_of
from sixledger.service.watch import WatchTiming
from sixledger.v1 import (
    access_service_pb2,
    catalog_service_pb2,
    engine_service_pb2,
    match_service_pb2,
    replay_service_pb2,
)

if TYPE_CHECKING:
    from sixledger.service.admin_port import AdminPort
    from sixledger.service.metrics import Metrics
    from sixledger.service.tracing import Tracing


class Server:
    """A server in the running event loop. Start it once; it cannot be started again after `stop`."""

    #: What answers the match calls; there once the server has started.
    host: MatchHost
    #: Fires the timers of its matches; there once the server has started.
    timekeeper: Timekeeper
    #: Takes up changed keys; there once the server has started.
    key_watch: KeyWatch
    #: Whether it should get calls; there once the server has started.
    readiness: Readiness

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        store: Store | None = None,
        keyring: Keyring | None = None,
        follow_keys: bool = False,
        clock: Callable[[], int] = wall_clock,
        root_secret: Callable[[], bytes] | None = None,
        interceptors: Sequence[grpc.aio.ServerInterceptor] = (),
        tracing: Tracing | None = None,
    ) -> None:
        """What is given goes before the settings; a given `store` is open and stays the caller's.

        `follow_keys`: take up what changes in the key file though a `keyring` is given, which was read from it.
        `interceptors` stand before every call, the first outermost, and see it as the transport does.
        `tracing` replaces what the settings say. Raises ValueError if they ask for what is not installed.

        `clock` gives microseconds since 1970-01-01 UTC, `root_secret` 32 random bytes for each match; both
        are for tests.
        """
        self.settings = settings or Settings()
        #: What the operator port shows; None without one.
        self.metrics: Metrics | None = None
        #: The operator port; None without one.
        self.admin: AdminPort | None = None
        if self.settings.admin_listen:
            from sixledger.service.metrics import Metrics

            self.metrics = Metrics()
        if tracing is None and self.settings.trace_ratio:
            from sixledger.service.tracing import Tracing

            tracing = Tracing(self.settings.trace_ratio)
        self._tracing = tracing
        self.gate = Gate(slow_s=self.settings.slow_call_s, metrics=self.metrics, tracing=tracing)
        self.port = 0
        self._store = store
        self._keyring = keyring
        self._follow_keys = follow_keys or keyring is None
        self._clock = clock
        self._root_secret = root_secret
        self._interceptors = tuple(interceptors)
        self._resources = AsyncExitStack()
        self._health = HealthServicer()
        #: Of the calls on the operator port: they are not counted among those of players, and stay possible to the end.
        self._admin_gate = Gate(slow_s=self.settings.slow_call_s)
        self._stopped: asyncio.Task[None] | None = None
        self._log = logs.Log("server")

    async def start(self) -> None:
        """Open the store, load or make the keys, listen and answer. Raises StoreError, ValueError or OSError."""
        async with AsyncExitStack() as resources:
            store = self._store
            if store is None:
                store = await resources.enter_async_context(self._open_store())
            if self.metrics is not None:
                store.on_flush = self.metrics.flushed
            if self._tracing is not None:
                resources.push_async_callback(asyncio.to_thread, self._tracing.close)
            interceptors = (*self._interceptors, self.gate)
            self._transport = transport_of(self.settings, interceptors)
            resources.push_async_callback(self._transport.stop, None)
            await self._listen()
            self._add_services(store, resources)
            self.readiness = Readiness(
                store,
                self._health,
                names=self._names,
                draining=lambda: self.gate.draining,
                tick_s=self.settings.ready_tick_s,
                metrics=self.metrics,
            )
            await self._transport.start()
            if self.metrics is not None:
                await self._open_admin_port(self.metrics, resources)
            resources.push_async_callback(self.readiness.close)
            await self.readiness.start()
            self._resources = resources.pop_all()
        key = str(self.host.signer.verifier_key)
        for remark in self.host.store.remarks:
            self._log.info("store", remark=remark)
        self._log.info("started", address=self.address, verifier_key=key, version=__version__)
        if self.admin is not None:
            self._log.info("admin_port", address=self.admin.address)
        if self.settings.tls_certificate is None and not self.settings.is_local:
            self._log.warning("no_tls", address=self.address, hint="tokens travel in the clear")

    def _open_store(self) -> Store:
        if self.settings.store_url.startswith("sqlite:"):
            self.settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        return open_store(self.settings.store_url, postgres=self.settings.postgres, seal=self.settings.seal())

    async def _listen(self) -> None:
        try:
            self.port = await self._transport.listen()
        except OSError:
            address = self.settings.listen
            raise OSError(f"cannot listen on {address}: is the address right, and free?") from None

    def _add_services(self, store: Store, resources: AsyncExitStack) -> None:
        settings = self.settings
        keyring = self._keyring
        if keyring is None:
            keyring = Keyring.generate() if settings.key_path is None else Keyring.load_or_create(settings.key_path)
        signer = self._signer(keyring)
        self.host = MatchHost(
            store,
            signer,
            clock=self._clock,
            cached_matches=settings.cached_matches,
            root_secret=self._root_secret,
            token_lifetime_s=settings.token_lifetime_s,
            metrics=self.metrics,
            tracing=self._tracing,
            archive=settings.archive_dir,
        )
        tokens = TokenMint(keyring.token_key, settings.token_lifetime_s, store.token_floor)
        keys = ApiKeys(store, self._clock)
        self.gate.admission = admission = Admission(
            keys,
            calls_per_second=settings.limit(settings.calls_per_second),
            streams=int(settings.limit(settings.max_streams_per_caller)),
            proxies=settings.proxies,
        )
        rules = OwnerRules(settings.needs_key, int(settings.limit(settings.max_open_matches)))
        timing = WatchTiming(tick_s=settings.watch_tick_s, heartbeat_s=settings.heartbeat_s)
        play = PlayLimits(orders=settings.play_orders, followed=settings.play_followed)
        replay = ReplayServicer(
            lambda: signer.signed_list.note,
            max_bytes=settings.max_ledger_bytes,
            max_waiting=settings.max_verifications,
            cpu_s=settings.verification_cpu_s,
            metrics=self.metrics,
        )
        resources.callback(replay.close)
        matches = MatchServicer(
            self.host,
            tokens,
            timing,
            play,
            keys=keys,
            rules=rules,
            admission=admission,
            max_watchers=settings.max_watchers,
        )
        key_path = settings.key_path if self._follow_keys else None
        self.key_watch = KeyWatch(key_path, signer, self.host, settings.key_tick_s)
        if self._follow_keys and self._keyring is not None:
            self.key_watch.look()  # a worker that is started again later was given the keys of the beginning
        self.key_watch.start()
        resources.push_async_callback(self.key_watch.close)
        self.timekeeper = Timekeeper(self.host, settings.deadline_tick_s)
        self.timekeeper.start()
        resources.push_async_callback(self.timekeeper.close)
        news = News(self.host)
        news.start()
        resources.push_async_callback(news.close)
        matches.bots.start()
        resources.push_async_callback(matches.bots.close)
        access = AccessServicer(keys)
        self._admin_gate.admission = Admission(keys)
        self._admin_services = [(access_service_pb2.DESCRIPTOR.services_by_name["AccessService"], access)]
        servicers = [
            (access_service_pb2.DESCRIPTOR, "AccessService", access),
            (match_service_pb2.DESCRIPTOR, "MatchService", matches),
            (engine_service_pb2.DESCRIPTOR, "EngineService", EngineServicer(hub=self.host.hub, metrics=self.metrics)),
            (catalog_service_pb2.DESCRIPTOR, "CatalogService", CatalogServicer(signer)),
            (replay_service_pb2.DESCRIPTOR, "ReplayService", replay),
        ]
        services = [(file.services_by_name[name], servicer) for file, name, servicer in servicers]
        self._transport.add_generic_rpc_handlers(tuple(handler_of(*service) for service in services))
        self._names = [descriptor.full_name for descriptor, _ in services]
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._transport)
        listed = ReflectionServicer([*self._names, health.SERVICE_NAME, reflection.SERVICE_NAME])
        reflection_pb2_grpc.add_ServerReflectionServicer_to_server(listed, self._transport)

    def _signer(self, keyring: Keyring) -> OriginSigner:
        key_list = keyring.signed_list(self.origin)
        if self.metrics is None:
            return OriginSigner(keyring.signing_keys, key_list, self._clock)
        from sixledger.service.metrics import TimedSigner

        signer = TimedSigner(keyring.signing_keys, key_list, self._clock)
        signer.signed = self.metrics.signed
        return signer

    async def _open_admin_port(self, metrics: Metrics, resources: AsyncExitStack) -> None:
        from sixledger.service.admin_port import AdminPort

        self.admin = AdminPort(self.settings.admin_listen, metrics, lambda: self.readiness.missing)
        await self.admin.start(
            [handler_of(*service) for service in self._admin_services],
            [descriptor.full_name for descriptor, _ in self._admin_services],
            [self._admin_gate],
            health=self._health,
        )
        resources.push_async_callback(self.admin.stop)

    @property
    def address(self) -> str:
        """Where clients find the server: `HOST:PORT`, or `unix:PATH`."""
        host, colon, port = self.settings.listen.rpartition(":")
        return f"{host}:{self.port}" if colon and port.isdigit() else self.settings.listen

    @property
    def origin(self) -> str:
        """The name under which heads are signed."""
        return self.settings.origin or self.address

    async def stop(self, grace_s: float | None = None) -> None:
        """Stop: no new calls, running ones get `grace_s` seconds, watches end, what was written is flushed.

        Harmless when repeated; a caller that is cancelled leaves, the stopping goes on.
        """
        if not hasattr(self, "host"):
            return  # it never started
        if self._stopped is None:
            grace = self.settings.grace_s if grace_s is None else grace_s
            self._stopped = asyncio.ensure_future(self._stop(grace))
        await asyncio.shield(self._stopped)

    async def _stop(self, grace_s: float) -> None:
        self._log.info("stopping", running=self.gate.running)
        await self._health.enter_graceful_shutdown()
        self.gate.drain()
        self.readiness.measure()
        # Watches end at once; unary calls finish. Only then the transport closes: it would cancel what runs.
        self.host.hub.close()
        idle = await self.gate.idle(grace_s)
        if not idle:
            self._log.warning("calls_cut_off", running=self.gate.running)
        await self._transport.stop(0.25 if idle else 0)
        await self._resources.aclose()
        self._log.info("stopped")

    async def wait(self) -> None:
        """Wait until the server has stopped."""
        await self._transport.wait_for_termination()
        if self._stopped is not None:
            await asyncio.shield(self._stopped)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
