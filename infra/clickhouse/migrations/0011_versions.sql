-- What was written lately is found without a look at all that lies beside it: parts and pieces that hold only older rows are left out.
ALTER TABLE candles ADD INDEX IF NOT EXISTS by_version version TYPE minmax GRANULARITY 1;
-- The candles of a change have this version or a higher one; 0: nobody noted it.
ALTER TABLE changes ADD COLUMN IF NOT EXISTS version UInt128;
