-- The history of what v3 pools held: one row for a pool and hour, the newest reading of that hour on the chain. Versions as in 0001.
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
    INDEX by_block block TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version, is_deleted)
PARTITION BY toYYYYMM(hour)
ORDER BY (network, pool, hour)
SETTINGS index_granularity = 1024, auto_statistics_types = '';

-- The last reading of each pool stays; earlier ones were not kept by the hour.
INSERT INTO pool_balance_hours
WITH recent AS
(
    SELECT network, pool, block, block_hash, balance0, balance1
    FROM pool_balances
    ORDER BY network, pool, block DESC
    LIMIT 20 BY network, pool
)
SELECT network, pool, toStartOfHour(max(ledger.time)), max(recent.block), argMax(balance0, recent.block), argMax(balance1, recent.block), 0, 0
FROM recent
INNER JOIN
(
    SELECT network, number, hash, time FROM blocks FINAL WHERE (network, number) IN (SELECT network, block FROM recent)
) AS ledger ON ledger.network = recent.network AND ledger.number = recent.block AND ledger.hash = recent.block_hash
GROUP BY network, pool;

-- From here on readings of the last day, from which a rollback restores the hours that it takes back.
TRUNCATE TABLE pool_balances;
ALTER TABLE pool_balances
    ADD COLUMN IF NOT EXISTS time    DateTime('UTC'),                -- of the block
    ADD COLUMN IF NOT EXISTS written DateTime('UTC') DEFAULT now();
ALTER TABLE pool_balances MODIFY TTL written + INTERVAL 1 DAY;
ALTER TABLE pool_balances MODIFY SETTING merge_with_ttl_timeout = 600;
