-- What keeps the candles right, and tells others that they changed.

-- What a write touched, so that API processes know what to forget. Read by whoever was there when it was written.
CREATE TABLE IF NOT EXISTS changes
(
    network  LowCardinality(String),
    sequence UInt128,                             -- the version of the candles that were written: grows with each write
    pool     String,
    first    DateTime('UTC'),                     -- the first and the last second that changed
    last     DateTime('UTC'),
    written  DateTime('UTC') DEFAULT now()
)
ENGINE = MergeTree
ORDER BY (network, sequence)
TTL written + INTERVAL 1 HOUR
SETTINGS merge_with_ttl_timeout = 600;

-- Of a job that rebuilds candles: which resolutions, in seconds. Its `first` and `last` are seconds since 1970.
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS resolutions Array(UInt32) AFTER pools;
