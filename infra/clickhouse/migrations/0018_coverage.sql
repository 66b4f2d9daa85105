-- Final history that jobs have read. Written after the rows of a range: from then on the range is complete for the pools of its filter.
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
