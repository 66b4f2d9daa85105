-- The chain as the ledger sees it, what was traded on it, and the candles made from that.
-- Every table is keyed and versioned: a row that is written again, or written by a replay, counts once.
--
-- Versions of blocks, ticks, pools and liquidity_changes (UInt64, see aggregator/version.ts):
--   bit 63       the row states final history (backfill, audit, repair): beats every live row
--   bits 48..62  generation of the log
--   bits 0..47   2 · offset for a tombstone, 2 · offset + 1 for a row, of the message that made it

-- The only checkpoint: grown last in a flush, shrunk first in a rollback.
-- A range of final history leaves its blocks with content and its last one.
CREATE TABLE IF NOT EXISTS blocks
(
    network     LowCardinality(String),
    number      UInt64,
    hash        FixedString(32),
    parent_hash FixedString(32),                  -- zeros inside a range, where nobody asked for it
    time        DateTime('UTC'),
    first       UInt64,                           -- first block that the message covered: `number`, or the start of a range
    ticks       UInt32,
    digest      UInt64,                           -- order-free sum over the block's ticks
    version     UInt64,
    is_deleted  UInt8
)
ENGINE = ReplacingMergeTree(version, is_deleted)
ORDER BY (network, number);

CREATE TABLE IF NOT EXISTS ticks
(
    network          LowCardinality(String),
    pool             String,                      -- v3 address or v4 id, lower-case hex
    time             DateTime('UTC') CODEC(DoubleDelta, ZSTD),
    block            UInt64 CODEC(DoubleDelta, ZSTD),
    log_index        UInt32 CODEC(Delta, ZSTD),
    transaction_hash FixedString(32),
    amount0          Int256 CODEC(ZSTD),          -- taker's view: received is positive
    amount1          Int256 CODEC(ZSTD),
    sqrt_price       UInt256 CODEC(ZSTD),         -- X96, after the swap
    liquidity        UInt128 CODEC(ZSTD),
    pool_tick        Int32 CODEC(Delta, ZSTD),
    fee              UInt32 CODEC(ZSTD),          -- hundredths of a bip
    price            Float64 CODEC(ZSTD),         -- execution, token1 per token0
    spot_price       Float64 CODEC(ZSTD),
    amount_usd       Decimal(76, 6) CODEC(ZSTD),
    version          UInt64 CODEC(DoubleDelta, ZSTD),
    is_deleted       UInt8 CODEC(ZSTD),
    INDEX by_block block TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version, is_deleted)
PARTITION BY toYYYYMM(time)
ORDER BY (network, pool, time, block, log_index)
SETTINGS index_granularity = 1024;                -- most questions are for some rows of one pool

CREATE TABLE IF NOT EXISTS candles
(
    network    LowCardinality(String),
    pool       String,
    resolution UInt32,                            -- seconds: 1, 60, 3600 or 86400
    time       DateTime('UTC') CODEC(DoubleDelta, ZSTD),
    open       Float64 CODEC(ZSTD),               -- execution price of the first swap
    high       Float64 CODEC(ZSTD),
    low        Float64 CODEC(ZSTD),
    close      Float64 CODEC(ZSTD),
    spot_open  Float64 CODEC(ZSTD),               -- spot price after the first swap
    spot_high  Float64 CODEC(ZSTD),
    spot_low   Float64 CODEC(ZSTD),
    spot_close Float64 CODEC(ZSTD),
    volume0    UInt256 CODEC(ZSTD),               -- raw units, sum of |amount0|
    volume1    UInt256 CODEC(ZSTD),
    volume_usd Decimal(76, 6) CODEC(ZSTD),
    trades     UInt64 CODEC(ZSTD),                -- 0: the bucket lost all its ticks, and is never shown
    version    UInt128 CODEC(ZSTD)                -- epoch of the owner, then a counter of its writes
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (network, pool, resolution, time)
SETTINGS index_granularity = 1024;

-- Sightings: a pool has one row for each block in which a listener met it anew, so that a rollback takes only its own.
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
    is_deleted           UInt8
)
ENGINE = ReplacingMergeTree(version, is_deleted)
ORDER BY (network, pool, block);

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
    INDEX by_block block TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version, is_deleted)
ORDER BY (network, pool, block, log_index);

-- What v3 pools hold after a block, read now and then; counts only while that block is on the ledger.
CREATE TABLE IF NOT EXISTS pool_balances
(
    network    LowCardinality(String),
    pool       String,
    block      UInt64,
    block_hash FixedString(32),
    balance0   UInt256,
    balance1   UInt256
)
ENGINE = ReplacingMergeTree
ORDER BY (network, pool, block, block_hash);

-- One row for each time that an aggregator took charge of a network.
CREATE TABLE IF NOT EXISTS owners
(
    network LowCardinality(String),
    epoch   UInt64,
    since   DateTime('UTC') DEFAULT now()
)
ENGINE = ReplacingMergeTree
ORDER BY (network, epoch);
