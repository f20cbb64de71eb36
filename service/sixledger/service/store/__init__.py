"""Where matches are kept. `open_store` chooses a store by its URL; all of them keep the same contract.

async with open_store("sqlite:matches.db") as store:
    result = await store.append(entry)

StoreError    the store cannot do it now; nothing was changed (UnknownOutcome: a write may have been made)
ValueError    an argument, or the URL, that no store takes
"""

from __future__ import annotations

from sixledger.service.store.base import (
    ApiKeyRow,
    Appended,
    AppendResult,
    Cursor,
    Due,
    Entry,
    MatchRow,
    RecordsArchived,
    RequestTaken,
    SeqTaken,
    Store,
    StoreError,
    StoreInUse,
    TokenFloor,
    UnknownOutcome,
)
from sixledger.service.store.checks import MAX_RECORD_BYTES
from sixledger.service.store.memory import MemoryStore
from sixledger.service.store.postgres_settings import PostgresSettings
from sixledger.service.store.sqlite import SqliteStore
from sixledger.service.store.sqlite_settings import SqliteSettings
from sixledger.service.store.urls import open_store

__all__ = [
    "MAX_RECORD_BYTES",
    "ApiKeyRow",
    "AppendResult",
    "Appended",
    "Cursor",
    "Due",
    "Entry",
    "MatchRow",
    "MemoryStore",
    "PostgresSettings",
    "RecordsArchived",
    "RequestTaken",
    "SeqTaken",
    "SqliteSettings",
    "SqliteStore",
    "Store",
    "StoreError",
    "StoreInUse",
    "TokenFloor",
    "UnknownOutcome",
    "open_store",
]
