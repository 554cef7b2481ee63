-- How far each log has been taken in. `birth` tells the logs of one cluster apart.
CREATE TABLE logs (
    cluster TEXT NOT NULL,
    birth BIGINT NOT NULL,
    acknowledged BIGINT NOT NULL,
    PRIMARY KEY (cluster, birth)
);

-- A row for each run of a job. Columns are what is searched by; `record` is everything there is to show.
CREATE TABLE jobs (
    id GENERATED_KEY,
    cluster TEXT NOT NULL,
    job_id BIGINT NOT NULL,
    submit_time BIGINT NOT NULL,
    run BIGINT NOT NULL,
    array_job_id BIGINT NOT NULL,
    array_task_id BIGINT,
    het_job_id BIGINT NOT NULL,
    het_job_offset BIGINT NOT NULL,
    uid BIGINT NOT NULL,
    gid BIGINT NOT NULL,
    user_name TEXT NOT NULL,
    account TEXT NOT NULL,
    partition_name TEXT NOT NULL,
    qos TEXT NOT NULL,
    name TEXT NOT NULL,
    wckey TEXT NOT NULL,
    reservation TEXT NOT NULL,
    state BIGINT NOT NULL,
    eligible_time BIGINT NOT NULL,
    start_time BIGINT NOT NULL,
    -- Far in the future while the run is not over.
    closed_time BIGINT NOT NULL,
    node_count BIGINT NOT NULL,
    cpus BIGINT NOT NULL,
    time_limit BIGINT,
    record BYTES NOT NULL,
    UNIQUE (cluster, job_id, submit_time, run)
);
CREATE INDEX jobs_by_user ON jobs (uid, closed_time);
CREATE INDEX jobs_by_account ON jobs (account, closed_time);
CREATE INDEX jobs_by_time ON jobs (closed_time);
CREATE INDEX jobs_by_array ON jobs (array_job_id);
CREATE INDEX jobs_by_het ON jobs (het_job_id);
CREATE INDEX jobs_by_id ON jobs (job_id);

CREATE TABLE steps (
    job BIGINT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    step TEXT NOT NULL,
    -- The order in which steps are shown.
    place BIGINT NOT NULL,
    start_time BIGINT NOT NULL,
    closed_time BIGINT NOT NULL,
    record BYTES NOT NULL,
    PRIMARY KEY (job, step)
);
