-- Audits: stored blocks that were compared with another answer of the chain, and the findings. One row for each unbroken run of blocks that is audited;
-- it grows, and its counts with it.
CREATE TABLE IF NOT EXISTS audits
(
    network    LowCardinality(String),
    job        UInt32,                            -- the backfill that stored the blocks; 0: the listener
    first      UInt64,
    next       UInt64,                            -- the first block that is not audited yet
    logs       UInt64,                            -- swaps and liquidity changes that were compared
    mismatched UInt64,                            -- blocks of which two answers told different logs
    omitted    UInt64,                            -- logs that were missing in the tables, and were added
    invented   UInt64,                            -- logs that were in the tables alone, and were removed
    repriced   UInt64,                            -- blocks whose logs were right and whose dollars were not
    undecided  Array(UInt64),                     -- blocks that no endpoint can prove: left alone, and asked for again
    repairing  Array(UInt64),                     -- blocks whose repair may not be stored yet
    time       DateTime('UTC'),                   -- of the last comparison
    version    UInt64,                            -- grows by one with each write
    compared   UInt64 DEFAULT next,               -- the first block that was not compared with an answer of another voice
    -- When each of the undecided blocks was, in their order; 0: not known. Answers about that time say so.
    undecided_times Array(UInt32),
    compared_at DateTime('UTC') DEFAULT toDateTime(0, 'UTC') -- when blocks were last compared with an answer of another voice; 1970: never
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (network, job, first);
