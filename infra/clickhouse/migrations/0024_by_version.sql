-- Rows that the stream has left above its tip are found among those of jobs, which have versions of their own, without a look at these.
-- Parts that were written before are read by the column itself, until they are merged.
ALTER TABLE ticks ADD INDEX IF NOT EXISTS by_version version TYPE minmax GRANULARITY 1;
ALTER TABLE pools ADD INDEX IF NOT EXISTS by_version version TYPE minmax GRANULARITY 1;
ALTER TABLE liquidity_changes ADD INDEX IF NOT EXISTS by_version version TYPE minmax GRANULARITY 1;
