-- A backfill reads again what earlier jobs have read; until it has, their coverage stays.
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS again Bool;
