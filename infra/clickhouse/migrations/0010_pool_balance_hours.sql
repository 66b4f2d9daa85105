-- The history of balances of v3 pools: one row for a pool and hour, the newest reading of that hour on the chain.
CREATE TABLE IF NOT EXISTS pool_balance_hours
(
    network    LowCardinality(String),
    pool       String,
    hour       DateTime('UTC') CODEC(DoubleDelta, ZSTD),
    block      UInt64 CODEC(DoubleDelta, ZSTD),         -- after which it was read
    balance0   UInt256 CODEC(ZSTD),
    balance1   UInt256 CODEC(ZSTD),
    version    UInt64 CODEC(DoubleDelta, ZSTD),
    is_deleted UInt8 CODEC(ZSTD),
    INDEX by_block block TYPE minmax GRANULARITY 1,
    INDEX by_version version TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version, is_deleted)
PARTITION BY toYYYYMM(hour)
ORDER BY (network, pool, hour)
SETTINGS index_granularity = 1024, auto_statistics_types = '';
