-- The most that a pool can have held, in raw units: what its mints together are at the price where each holds most, and its highest balances. More
-- than it holds, since burns, tombstones and repeated rows do not count: a pool whose bounds are low is not worth a look.
-- By a hash of 8 bytes: of 100,000 pools, ids are eight times as much to read.
CREATE TABLE IF NOT EXISTS pool_bounds
(
    network   LowCardinality(String),
    pool_hash UInt64,                             -- sipHash64 of the pool's id
    minted0   SimpleAggregateFunction(sum, Float64),
    minted1   SimpleAggregateFunction(sum, Float64),
    held0     SimpleAggregateFunction(max, Float64),
    held1     SimpleAggregateFunction(max, Float64)
)
ENGINE = AggregatingMergeTree
ORDER BY (network, pool_hash)
SETTINGS auto_statistics_types = '';

CREATE MATERIALIZED VIEW IF NOT EXISTS liquidity_to_bounds TO pool_bounds AS
SELECT
    network,
    sipHash64(pool) AS pool_hash,
    sum(toFloat64(liquidity_delta) * (pow(1.0001, -tick_lower / 2) - pow(1.0001, -tick_upper / 2))) AS minted0,
    sum(toFloat64(liquidity_delta) * (pow(1.0001, tick_upper / 2) - pow(1.0001, tick_lower / 2)))   AS minted1,
    toFloat64(0)    AS held0,
    toFloat64(0)    AS held1
FROM liquidity_changes
WHERE liquidity_delta > 0 AND is_deleted = 0
GROUP BY network, pool_hash;

CREATE MATERIALIZED VIEW IF NOT EXISTS balances_to_bounds TO pool_bounds AS
SELECT
    network,
    sipHash64(pool)                AS pool_hash,
    toFloat64(0)                   AS minted0,
    toFloat64(0)                   AS minted1,
    max(toFloat64(balance0))       AS held0,
    max(toFloat64(balance1))       AS held1
FROM pool_balance_hours
WHERE is_deleted = 0
GROUP BY network, pool_hash;
