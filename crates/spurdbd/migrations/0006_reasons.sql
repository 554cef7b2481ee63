-- The last thing that kept a run from starting, other than that others were first: later news that say nothing of it
-- leave it as it is.
ALTER TABLE jobs ADD COLUMN reason BIGINT NOT NULL DEFAULT 0;
