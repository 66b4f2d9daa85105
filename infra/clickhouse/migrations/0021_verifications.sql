-- The position of the permanent verification of a network, and its findings. A restart resumes at this place.
CREATE TABLE IF NOT EXISTS verifications
(
    network        LowCardinality(String),
    phase          LowCardinality(String),        -- candles, then blocks, then coverage
    month          DateTime('UTC'),               -- of candles: all months before it are verified
    pool           String,                        -- in that month: all pools before this one are verified,
    second         DateTime('UTC'),               -- and this one before this second
    block          UInt64,                        -- of blocks: all before this one are verified; of coverage: the first block of the next range
    job            UInt32,                        -- of coverage: the job of the next range
    began          DateTime('UTC'),               -- of this pass
    mismatches     UInt64,                        -- found in this pass
    passes         UInt64,                        -- whole passes
    passed         DateTime('UTC'),               -- end of the last whole pass; 1970: none
    passed_found   UInt64,                        -- mismatches that the last whole pass has found
    newest         String,                        -- the newest mismatch, with the command that repairs it
    version        UInt64                         -- grows by one with each write
)
ENGINE = ReplacingMergeTree(version)
ORDER BY network;
