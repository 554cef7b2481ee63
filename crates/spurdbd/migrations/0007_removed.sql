-- Rules that were deleted and are still told of.
CREATE TABLE removed_rules (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    record BYTES NOT NULL,
    PRIMARY KEY (kind, name)
);
