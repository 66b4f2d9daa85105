-- Readings that the stream has written after the block of its tip are found at a start without a look at older ones. Parts that were written
-- before are read by the column itself, until they are merged.
ALTER TABLE pool_balance_hours ADD INDEX IF NOT EXISTS by_version version TYPE minmax GRANULARITY 1;
