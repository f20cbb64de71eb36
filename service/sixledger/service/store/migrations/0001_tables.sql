-- Every key of matches and records leads with match_id, so that a distributed database can keep a match in one place.
-- Numbers that fit 32 bits without a sign are bigint: PostgreSQL has no unsigned ones.

CREATE TABLE matches (
    match_id bytea PRIMARY KEY,
    game text COLLATE "C" NOT NULL,
    seats bigint NOT NULL,
    created_us bigint NOT NULL,
    root_secret bytea NOT NULL,
    status bigint NOT NULL,
    joined bigint NOT NULL,
    owner text COLLATE "C" NOT NULL,
    private boolean NOT NULL,
    no_spectators boolean NOT NULL,
    rematch_of bytea NOT NULL,
    next_deadline_us bigint NOT NULL
);
CREATE INDEX matches_by_time ON matches (created_us, match_id);
CREATE INDEX matches_by_status ON matches (status, created_us, match_id);
CREATE INDEX matches_by_game ON matches (game, created_us, match_id);
CREATE INDEX matches_by_game_and_status ON matches (game, status, created_us, match_id);
CREATE INDEX matches_by_owner ON matches (owner, created_us, match_id) WHERE owner <> '';
CREATE INDEX open_matches_by_owner ON matches (owner, status) WHERE owner <> '';
CREATE INDEX matches_by_deadline ON matches (next_deadline_us, match_id) WHERE next_deadline_us > 0;

-- One row a record, with the idempotency key of its cause: both keys are checked by the one INSERT that appends.
CREATE TABLE records (
    match_id bytea NOT NULL,
    seq bigint NOT NULL,
    kind bigint NOT NULL,
    seat bigint NOT NULL,
    request_id bytea NOT NULL,
    record bytea NOT NULL,
    PRIMARY KEY (match_id, seq),
    CONSTRAINT records_by_request UNIQUE (match_id, kind, seat, request_id)
);

CREATE TABLE display_names (
    match_id bytea NOT NULL,
    seat bigint NOT NULL,
    name text NOT NULL,
    PRIMARY KEY (match_id, seat)
);

CREATE TABLE bots (
    match_id bytea NOT NULL,
    seat bigint NOT NULL,
    bot text NOT NULL,
    PRIMARY KEY (match_id, seat)
);

-- changed_at: by the clock of the database, when the row was written. Each replica asks for what is new.
CREATE TABLE token_floors (
    match_id bytea NOT NULL,
    seat bigint NOT NULL,
    generation bigint NOT NULL,
    until_us bigint NOT NULL,
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (match_id, seat)
);
CREATE INDEX token_floors_by_change ON token_floors (changed_at);

CREATE TABLE api_keys (
    id text COLLATE "C" PRIMARY KEY,
    name text NOT NULL,
    digest bytea NOT NULL,
    scopes bigint NOT NULL,
    created_us bigint NOT NULL,
    expires_us bigint NOT NULL,
    calls_per_second bigint NOT NULL,
    open_matches bigint NOT NULL,
    owner text COLLATE "C" NOT NULL
);
