-- Sightings: a pool has one row for each block in which a listener found it new, so that a rollback takes only its own.
CREATE TABLE IF NOT EXISTS pools
(
    network              LowCardinality(String),
    pool                 String,
    block                UInt64,
    time                 DateTime('UTC'),
    protocol             LowCardinality(String),  -- dex-v3 or dex-v4
    fee                  UInt32,                  -- hundredths of a bip; 8388608: dynamic
    initial_sqrt_price   UInt256,                 -- 0 where the sighting does not say
    token0_address       String,
    token0_symbol        String,
    token0_name          String,
    token0_decimals      UInt8,
    token1_address       String,
    token1_symbol        String,
    token1_name          String,
    token1_decimals      UInt8,
    version              UInt64,
    is_deleted           UInt8,
    venue                LowCardinality(String) DEFAULT 'uniswap', -- the exchange whose factory made the pool
    hooks                LowCardinality(String),  -- the v4 hook contract; empty without one
    INDEX by_version version TYPE minmax GRANULARITY 1,
    INDEX by_token0 token0_address TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX by_token1 token1_address TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version, is_deleted)
ORDER BY (network, pool, block)
SETTINGS auto_statistics_types = '';
