"""What a database must be like so that a confirmed append survives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sixledger.service.store.base import StoreError
from sixledger.service.store.postgres_settings import PostgresSettings

if TYPE_CHECKING:
    from sixledger.service.store.postgres_link import Connection

#: What the statements need. Distributed databases that speak the protocol call themselves this old.
OLDEST_SERVER = 130000

_QUESTION = """
SELECT current_setting('server_version_num')::int AS version,
       current_setting('server_encoding') AS encoding,
       current_setting('fsync', true) AS fsync,
       current_setting('full_page_writes', true) AS full_page_writes,
       current_setting('synchronous_commit', true) AS synchronous_commit,
       current_setting('synchronous_standby_names', true) AS standbys,
       pg_is_in_recovery() AS is_standby
"""


async def check_server(connection: Connection, settings: PostgresSettings) -> str | None:
    """Raise StoreError, saying what to change, unless what this server confirms is durable.

    Gives what an operator should know all the same, or None.
    """
    found = await connection.fetchrow(_QUESTION)
    assert found is not None
    if found["version"] < OLDEST_SERVER:
        raise StoreError(f"PostgreSQL {found['version'] // 10000} is too old: use {OLDEST_SERVER // 10000} or newer")
    if found["is_standby"]:
        raise StoreError("the database is a standby, which takes no writes: name the primary, or all hosts")
    if found["encoding"] != "UTF8":
        raise StoreError(f"the database has the encoding {found['encoding']}: create it with ENCODING 'UTF8'")
    for name in ("fsync", "full_page_writes"):
        if found[name] == "off":  # a database that has no such setting has no such danger
            raise StoreError(f"the database may lose or damage what it confirmed: set {name} = on")
    commit = found["synchronous_commit"]
    if commit == "off":
        raise StoreError("the database confirms what is not durable: set synchronous_commit = on, also for the role")
    if settings.require_synchronous_standby:
        if not (found["standbys"] or "").strip():
            raise StoreError(
                "no synchronous standby: set synchronous_standby_names in the database, or do without "
                "(postgres_require_synchronous_standby = no), and then a lost machine may lose confirmed records"
            )
        if commit not in ("on", "remote_apply"):
            raise StoreError(
                f"synchronous_commit = {commit} does not wait for a standby: set it to on, also for the role"
            )
    if found["standbys"] is None or found["standbys"].strip():
        return None
    return (
        "the database has no synchronous standby: confirmed records survive a crash of its machine, but not its loss. "
        "With one, set postgres_require_synchronous_standby = yes, and this is checked"
    )
