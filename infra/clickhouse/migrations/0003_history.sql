-- Final history that was read apart from the listener, by jobs, and what of it is known whole.

CREATE TABLE IF NOT EXISTS jobs
(
    network     LowCardinality(String),
    id          UInt32,                           -- its rows beat those of every lower one
    kind        LowCardinality(String),           -- backfill
    first       UInt64,
    last        UInt64,
    pools       Array(String),                    -- empty: all
    concurrency UInt8,                            -- ranges in flight
    state       LowCardinality(String),           -- open, done or failed
    reason      String,                           -- why it failed
    created     DateTime('UTC'),
    version     UInt64                            -- milliseconds since 1970 of the change
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (network, id);

-- Written after the rows of a range: from then on the range is known whole for the pools of its filter.
CREATE TABLE IF NOT EXISTS coverage
(
    network    LowCardinality(String),
    filter     String,                            -- pool ids in order, comma separated; empty: all
    source     LowCardinality(String),            -- backfill
    first      UInt64,
    last       UInt64,
    first_time DateTime('UTC'),
    last_time  DateTime('UTC'),
    ticks      UInt64,
    digest     UInt64,                            -- order-free sum over the range's ticks
    job        UInt32,
    version    UInt64                             -- of the rows that the range left
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (network, filter, source, first, last);
