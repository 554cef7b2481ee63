-- What was said of a run afterwards; later news of it leave this as it is.
ALTER TABLE jobs ADD COLUMN amended BYTES;
