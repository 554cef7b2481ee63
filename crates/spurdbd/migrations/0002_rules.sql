-- Clusters, accounts, users, associations, QOS, wckeys: a row each, under a name that no other of its kind has.
CREATE TABLE rules (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    record BYTES NOT NULL,
    PRIMARY KEY (kind, name)
);

-- One row: the version of the rules, and the last number given to an association or a QOS.
CREATE TABLE rules_version (
    id BIGINT PRIMARY KEY,
    version BIGINT NOT NULL,
    last_association BIGINT NOT NULL,
    last_qos BIGINT NOT NULL
);

CREATE TABLE transactions (
    id GENERATED_KEY,
    time BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    object TEXT NOT NULL,
    info TEXT NOT NULL
);
CREATE INDEX transactions_by_time ON transactions (time);
