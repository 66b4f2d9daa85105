-- A backfill stops after about so many requests; 0: it reads all of its range.
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS max_requests UInt32;
