-- Balances of v3 pools after a block, read now and then; a row counts only while that block is on the ledger. Rows of the last day, from which a rollback
-- restores the hours that it takes back.
CREATE TABLE IF NOT EXISTS pool_balances
(
    network    LowCardinality(String),
    pool       String,
    block      UInt64,
    block_hash FixedString(32),
    balance0   UInt256,
    balance1   UInt256,
    time       DateTime('UTC'),                   -- of the block
    written    DateTime('UTC') DEFAULT now()
)
ENGINE = ReplacingMergeTree
ORDER BY (network, pool, block, block_hash)
TTL written + INTERVAL 1 DAY
SETTINGS auto_statistics_types = '', merge_with_ttl_timeout = 600;
