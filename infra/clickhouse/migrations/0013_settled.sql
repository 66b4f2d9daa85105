-- How far a network is on the disk, where writes are not synced one by one: up to a block, and the candles of no higher version. A start goes back to
-- it. -1: no block is; the highest number: all that is stored.
CREATE TABLE IF NOT EXISTS settled
(
    network LowCardinality(String),
    number  Int64,
    version UInt128
)
ENGINE = ReplacingMergeTree(version)
ORDER BY network;
