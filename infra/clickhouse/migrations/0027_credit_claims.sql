-- Claims of API processes on the credits of a key's minute, in the order of time: only recent rows are read.
CREATE TABLE IF NOT EXISTS credit_claims
(
    written  DateTime64(3, 'UTC'),
    key_hash FixedString(32),                     -- all zero: the process is there
    minute   DateTime('UTC'),
    instance UUID,
    version  UInt64,                              -- grows with each round of the instance
    claimed  UInt64,                              -- the instance uses no more before it has claimed more
    needed   UInt64,                              -- it would use as much if it could
    credits  UInt64,                              -- used by now
    calls    UInt64
)
ENGINE = MergeTree
PARTITION BY toStartOfHour(written)
ORDER BY written
TTL toDateTime(written) + INTERVAL 1 HOUR
SETTINGS ttl_only_drop_parts = 1;
