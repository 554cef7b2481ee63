-- What was used in whole hours, days and months (UTC), by cluster; `record` is everything reports want.
CREATE TABLE rollups (
    period TEXT NOT NULL,
    start_time BIGINT NOT NULL,
    cluster TEXT NOT NULL,
    record BYTES NOT NULL,
    PRIMARY KEY (period, start_time, cluster)
);

-- One row: everything before this hour is rolled up.
CREATE TABLE rolled_until (
    id BIGINT PRIMARY KEY,
    time BIGINT NOT NULL
);

-- Runs that began before a moment and had not ended at another.
CREATE INDEX jobs_by_start ON jobs (start_time);
