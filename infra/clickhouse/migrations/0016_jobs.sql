-- Requests of one process to another: final history to read, candles to rebuild, blocks to take back.
CREATE TABLE IF NOT EXISTS jobs
(
    network      LowCardinality(String),
    id           UInt32,                          -- its rows beat those of every lower one
    kind         LowCardinality(String),          -- backfill, audit, rebuild or rewind
    first        UInt64,                          -- of a rebuild, seconds since 1970
    last         UInt64,
    pools        Array(String),                   -- empty: all
    resolutions  Array(UInt32),                   -- of a rebuild, in seconds
    concurrency  UInt8,                           -- ranges in flight
    state        LowCardinality(String),          -- open, done, failed or stopped
    reason       String,                          -- why it failed or stopped; while it is open, how far it is
    created      DateTime('UTC'),
    version      UInt64,                          -- grows with each write
    max_requests UInt32,                          -- a backfill stops after about so many; 0: it reads all of its range
    again        Bool                             -- ranges that earlier jobs have read are read again; until then, their coverage stays
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (network, id);
