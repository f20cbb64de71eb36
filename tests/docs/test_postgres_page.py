"""The guide to PostgreSQL says what the settings, the command line and the statements are."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from sixledger.service.config import Settings
from sixledger.service.store.postgres_migrations import known

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "postgres.md").read_text(encoding="utf-8")


def test_every_setting_of_the_store_is_in_the_table_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(postgres_\w+)` \| (\S*) ?\|", PAGE, re.MULTILINE))
    defaults = {each.name: each.default for each in fields(Settings) if each.name.startswith("postgres_")}
    assert set(rows) == set(defaults)
    for name, default in defaults.items():
        assert rows[name] == (f"{default:g}" if isinstance(default, float) else str(default)), name


def test_the_page_shows_what_migrating_says() -> None:
    lines = [f"applied {each.version:04} {each.name}" for each in known()]
    assert "\n".join([*lines, f"the tables have version {len(known())}, as this release needs"]) in PAGE


def test_every_table_of_matches_is_named() -> None:
    tables = re.findall(r"^CREATE TABLE (\w+)", "\n".join(each.sql for each in known()), re.MULTILINE)
    assert all(f"`{table}`" in PAGE for table in tables)
