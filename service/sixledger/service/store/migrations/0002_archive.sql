-- Matches whose records have left for an archive: how many, and the hash of the last one.
ALTER TABLE matches ADD COLUMN archived bigint NOT NULL DEFAULT 0;
ALTER TABLE matches ADD COLUMN archived_hash bytea NOT NULL DEFAULT '';
CREATE INDEX matches_to_archive ON matches (status, created_us, match_id) WHERE archived = 0;

-- The row of a record that has left stays, with its number and idempotency key, and without the record.
ALTER TABLE records ALTER COLUMN record DROP NOT NULL;
