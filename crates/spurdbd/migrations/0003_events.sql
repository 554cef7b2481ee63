-- Nodes out of service, and what clusters had; the cluster itself has no node name.
CREATE TABLE events (
    cluster TEXT NOT NULL,
    node TEXT NOT NULL,
    start_time BIGINT NOT NULL,
    -- Far in the future while it lasts.
    closed_time BIGINT NOT NULL,
    record BYTES NOT NULL,
    PRIMARY KEY (cluster, node, start_time)
);
CREATE INDEX events_by_time ON events (closed_time);
