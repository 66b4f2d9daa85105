-- How far the public topics are: the newest block of each network whose ticks and candles are acknowledged there. -1: none.
CREATE TABLE IF NOT EXISTS published
(
    network LowCardinality(String),
    number  Int64,
    hash    FixedString(32),
    time    DateTime('UTC'),
    version UInt128                               -- epoch of the writer, then a counter of its writes
)
ENGINE = ReplacingMergeTree(version)
ORDER BY network;
