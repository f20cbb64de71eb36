"""The statements of the PostgreSQL store that write.

Arrays come in and are rows by `unnest`, so a statement has the same text, and the same cached plan, for any batch. All
parts of a statement see the same moment, and change all or nothing.
"""

from __future__ import annotations

# What may be inserted: the record before it exists and has not left for an archive, and neither of its keys exists.
# The order of the rows is that of the keys: two batches of two processes that want the same rows then wait for each
# other in one direction only.
_APPENDED = """
    INSERT INTO records (match_id, seq, kind, seat, request_id, record)
    SELECT e.match_id, e.seq, e.kind, e.seat, e.request_id, e.record
    FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[])
        AS e (match_id, seq, kind, seat, request_id, record)
    JOIN records p ON p.match_id = e.match_id AND p.seq = e.seq - 1 AND p.record IS NOT NULL
    ORDER BY e.match_id
    ON CONFLICT DO NOTHING
    RETURNING match_id
"""

APPEND = _APPENDED

_RAISE = """
    ON CONFLICT (match_id, seat) DO UPDATE SET
        generation = greatest(token_floors.generation, excluded.generation),
        until_us = greatest(token_floors.until_us, excluded.until_us), changed_at = excluded.changed_at
"""

#: As APPEND, with what changes together with the records; without effect for a record that was not inserted.
APPEND_AND_CHANGE = f"""
WITH appended AS ({_APPENDED}), changes AS (
    SELECT c.* FROM unnest(
        $7::bytea[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::text[], $14::text[],
        $15::bigint[], $16::bigint[]
    ) AS c (match_id, seat, status, joined, seats, deadline_us, name, bot, generation, until_us)
    JOIN appended a ON a.match_id = c.match_id
), moved AS (
    UPDATE matches m SET
        status = coalesce(c.status, m.status), joined = coalesce(c.joined, m.joined),
        seats = coalesce(c.seats, m.seats), next_deadline_us = coalesce(c.deadline_us, m.next_deadline_us)
    FROM changes c
    WHERE m.match_id = c.match_id AND coalesce(c.status, c.joined, c.seats, c.deadline_us) IS NOT NULL
), named AS (
    INSERT INTO display_names (match_id, seat, name) SELECT match_id, seat, name FROM changes WHERE name <> ''
    ON CONFLICT (match_id, seat) DO UPDATE SET name = excluded.name
), unnamed AS (
    DELETE FROM display_names d USING changes c WHERE c.name = '' AND d.match_id = c.match_id AND d.seat = c.seat
), seated AS (
    INSERT INTO bots (match_id, seat, bot) SELECT match_id, seat, bot FROM changes WHERE bot <> ''
    ON CONFLICT (match_id, seat) DO UPDATE SET bot = excluded.bot
), unseated AS (
    DELETE FROM bots b USING changes c WHERE c.bot = '' AND b.match_id = c.match_id AND b.seat = c.seat
), raised AS (
    INSERT INTO token_floors (match_id, seat, generation, until_us, changed_at)
    SELECT match_id, seat, generation, until_us, clock_timestamp() FROM changes WHERE generation IS NOT NULL
    {_RAISE}
)
SELECT match_id FROM appended
"""  # noqa: S608 - constants

#: A match and its record 0.
CREATE = """
WITH created AS (
    INSERT INTO matches (
        match_id, game, seats, created_us, root_secret, status, joined, owner, private, no_spectators, rematch_of,
        next_deadline_us
    )
    SELECT * FROM unnest(
        $1::bytea[], $2::text[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bigint[], $7::bigint[], $8::text[],
        $9::boolean[], $10::boolean[], $11::bytea[], $12::bigint[]
    ) AS m (match_id) ORDER BY m.match_id
    ON CONFLICT DO NOTHING
    RETURNING match_id
)
INSERT INTO records (match_id, seq, kind, seat, request_id, record)
SELECT e.match_id, 0, e.kind, e.seat, e.request_id, e.record
FROM unnest($1::bytea[], $13::bigint[], $14::bigint[], $15::bytea[], $16::bytea[])
    AS e (match_id, kind, seat, request_id, record)
JOIN created c ON c.match_id = e.match_id
RETURNING match_id
"""

#: Records by idempotency keys: match, number, and no record.
FIND = """
SELECT r.match_id, r.seq, NULL
FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bytea[]) AS k (match_id, kind, seat, request_id)
JOIN records r
    ON r.match_id = k.match_id AND r.kind = k.kind AND r.seat = k.seat AND r.request_id = k.request_id
"""

#: As FIND, with the records, which are written again as they are: what this gives is durable when it has committed.
FIND_DURABLY = """
UPDATE records r SET kind = r.kind
FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bytea[]) AS k (match_id, kind, seat, request_id)
WHERE r.match_id = k.match_id AND r.kind = k.kind AND r.seat = k.seat AND r.request_id = k.request_id
RETURNING r.match_id, r.seq, r.record
"""

RAISE_FLOOR = f"""
INSERT INTO token_floors (match_id, seat, generation, until_us, changed_at)
VALUES ($1, $2, $3, $4, clock_timestamp())
{_RAISE}
"""  # noqa: S608 - constants

PUT_API_KEY = """
INSERT INTO api_keys (id, name, digest, scopes, created_us, expires_us, calls_per_second, open_matches, owner)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (id) DO UPDATE SET
    name = excluded.name, digest = excluded.digest, scopes = excluded.scopes, created_us = excluded.created_us,
    expires_us = excluded.expires_us, calls_per_second = excluded.calls_per_second,
    open_matches = excluded.open_matches, owner = excluded.owner
"""

#: Erases the display names of a match, of a seat and with a text, each any if null, and counts them.
ERASE_NAMES = """
WITH erased AS (
    DELETE FROM display_names
    WHERE ($1::bytea IS NULL OR match_id = $1) AND ($2::bigint IS NULL OR seat = $2) AND ($3::text IS NULL OR name = $3)
    RETURNING 1
)
SELECT count(*) FROM erased
"""

RESEAL = "UPDATE matches SET root_secret = $3 WHERE match_id = $1 AND root_secret = $2"
