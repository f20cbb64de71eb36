"""Every store keeps the contract."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sixledger.service.store import MemoryStore, PostgresSettings, SqliteSettings, SqliteStore, Store
from sixledger.service.store.postgres import PostgresStore
from sixledger.service.store.sealing import Seal
from support.postgres import empty
from support.store_contract import StoreContract


class TestMemoryStore(StoreContract):
    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]:
        async with MemoryStore() as store:
            yield store


class TestSqliteStore(StoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        async with SqliteStore(tmp_path / "matches.db") as store:
            yield store


class TestSqliteStoreWithATransactionForEachAppend(StoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        async with SqliteStore(tmp_path / "matches.db", SqliteSettings(max_batch=1, readers=1)) as store:
            yield store


class TestPostgresStore(StoreContract):
    @pytest.fixture
    async def store(self, postgres_url: str) -> AsyncIterator[Store]:
        await empty(postgres_url)
        async with PostgresStore(postgres_url) as store:
            yield store


class TestPostgresStoreWithAStatementForEachAppend(StoreContract):
    @pytest.fixture
    async def store(self, postgres_url: str) -> AsyncIterator[Store]:
        await empty(postgres_url)
        async with PostgresStore(postgres_url, PostgresSettings(max_batch=1, readers=1, wakeups=False)) as store:
            yield store


class TestSqliteStoreWithSealedSecrets(StoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        store = SqliteStore(tmp_path / "matches.db")
        store.seal = Seal([bytes(32)])
        async with store:
            yield store
