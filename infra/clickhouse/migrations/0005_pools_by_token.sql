-- Pools by each of their tokens, then by the other one: a pair's pools are found, and valued, without a read of all. One row a token of each row
-- of `pools`.
CREATE TABLE IF NOT EXISTS pools_by_token
(
    network      LowCardinality(String),
    token        String,
    other_token  String,
    pool         String,
    block        UInt64,
    symbol       String,                          -- of `token`, as the row of `pools` has it
    venue        LowCardinality(String),
    initial_sqrt_price UInt256,
    token0_decimals    UInt8,                     -- of the lower address of the two
    token1_decimals    UInt8,
    pool_hash    UInt64 MATERIALIZED sipHash64(pool) CODEC(ZSTD), -- an eighth of an id to read
    version      UInt64,
    is_deleted   UInt8,
    written      DateTime64(3, 'UTC') DEFAULT now64(3),
    INDEX by_written written TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version, is_deleted)
ORDER BY (network, token, other_token, pool, block);

CREATE MATERIALIZED VIEW IF NOT EXISTS pools_to_tokens TO pools_by_token AS
SELECT
    network, side.1 AS token, side.3 AS other_token, pool, block, side.2 AS symbol, venue, initial_sqrt_price, token0_decimals, token1_decimals,
    version, is_deleted
FROM pools
ARRAY JOIN [(token0_address, token0_symbol, token1_address), (token1_address, token1_symbol, token0_address)] AS side;
