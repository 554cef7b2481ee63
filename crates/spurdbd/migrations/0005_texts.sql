-- Scripts and environments, each once, by the SHA-256 of what it holds.
CREATE TABLE texts (
    hash TEXT PRIMARY KEY,
    content BYTES NOT NULL
);
