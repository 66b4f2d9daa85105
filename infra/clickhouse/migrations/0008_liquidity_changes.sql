-- Mints and burns.
CREATE TABLE IF NOT EXISTS liquidity_changes
(
    network         LowCardinality(String),
    pool            String,
    block           UInt64 CODEC(DoubleDelta, ZSTD),
    log_index       UInt32 CODEC(ZSTD),
    time            DateTime('UTC') CODEC(DoubleDelta, ZSTD),
    tick_lower      Int32 CODEC(ZSTD),
    tick_upper      Int32 CODEC(ZSTD),
    liquidity_delta Int256 CODEC(ZSTD),
    version         UInt64 CODEC(DoubleDelta, ZSTD),
    is_deleted      UInt8 CODEC(ZSTD),
    INDEX by_block block TYPE minmax GRANULARITY 1,
    INDEX by_version version TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version, is_deleted)
ORDER BY (network, pool, block, log_index)
SETTINGS auto_statistics_types = '';
