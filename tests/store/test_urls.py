"""A URL names a store."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from sixledger.service.store import MemoryStore, open_store
from support.store_contract import new_match


def test_memory_is_a_memory_store() -> None:
    assert isinstance(open_store("memory:"), MemoryStore)


@pytest.mark.parametrize("slashes", ["", "//"])
async def test_sqlite_names_a_file(tmp_path: Path, slashes: str) -> None:
    path = tmp_path / "with space?&#%.db"
    async with open_store(f"sqlite:{slashes}{path}") as store:
        await new_match(store)
    assert path.stat().st_size > 0


async def test_a_relative_path_starts_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with open_store("sqlite:matches.db") as store:
        await new_match(store)
    assert (tmp_path / "matches.db").exists()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", "a store is memory: or sqlite:PATH or postgresql:"),
        ("matches.db", "a store is memory: or sqlite:PATH or postgresql:"),
        ("oracle://user:hunter2@host/db", "the scheme 'oracle'"),
        ("user hunter2:x", "without a known scheme"),
        ("memory:x", "takes nothing"),
        ("sqlite:", "needs the path of a file"),
        ("sqlite://host/file", "needs the path of a file"),
        ("sqlite:folder/", "needs the path of a file"),
        ("sqlite::memory:", "use memory:"),
    ],
)
def test_other_urls_are_refused_without_repeating_a_password(url: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        open_store(url)
    assert "hunter2" not in str(caught.value)


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    for name in [name for name in sys.modules if name.startswith("sixledger.service.store.postgres")]:
        if name != "sixledger.service.store.postgres_settings":
            monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ValueError, match=r"needs the package asyncpg; install it with: pip install 'sixledger\[postgr"):
        open_store("postgresql://host/db")
