-- Lists for everybody show public matches alone. Their indices hold no others: a page must not cost the more, the more
-- private matches there are between two public ones.
CREATE INDEX public_matches_by_time ON matches (created_us, match_id) WHERE NOT private;
CREATE INDEX public_matches_by_status ON matches (status, created_us, match_id) WHERE NOT private;
CREATE INDEX public_matches_by_game ON matches (game, created_us, match_id) WHERE NOT private;
CREATE INDEX public_matches_by_game_and_status ON matches (game, status, created_us, match_id) WHERE NOT private;
-- That by status stays: the server looks for unfinished matches of all kinds.
DROP INDEX matches_by_time;
DROP INDEX matches_by_game;
DROP INDEX matches_by_game_and_status;
