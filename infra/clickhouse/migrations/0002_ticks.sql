-- Swaps. A price is stored as its distance from an estimate by other columns of its row: see aggregator/candles/price-estimate.ts. `toFloat64` of more than 64 bits
-- depends on the machine, so such numbers are added up from two halves; where a size is 0, nothing is divided by it.
-- No statistics: each question reads by a key, and counting the values of columns takes a tenth of a merge.
-- Parts of less than 5 MB count as if they had 5 MB, so a low `merge_selector_base` has every few blocks of a live chain rewrite the newest parts; and
-- all small parts beside a larger one are merged into it, or each block rewrites the larger one.
CREATE TABLE IF NOT EXISTS ticks
(
    network          LowCardinality(String),
    pool             String,                                  -- v3 address or v4 id, lower-case hex
    time             DateTime('UTC') CODEC(Delta, T64, ZSTD),
    block            UInt64 CODEC(Delta, T64, ZSTD),
    log_index        UInt32 CODEC(T64, ZSTD),
    transaction_hash FixedString(32) CODEC(NONE),             -- nothing makes it smaller
    amount0          Int256 CODEC(ZSTD),                      -- taker's view: received is positive
    amount1          Int256 CODEC(ZSTD),
    sqrt_price       UInt256 CODEC(ZSTD),                     -- X96, after the swap
    liquidity        UInt128 CODEC(ZSTD),
    pool_tick        Int32 CODEC(DoubleDelta, ZSTD),
    fee              UInt32 CODEC(ZSTD),                      -- hundredths of a bip
    scale            Float64 CODEC(ZSTD),                     -- 10 ^ (decimals1 - decimals0)
    spot_price_ulps  Int64 CODEC(T64, ZSTD),                  -- units in the last place from the estimate
    price_ulps       Int64 CODEC(T64, ZSTD),
    amount_usd       Decimal(76, 6) CODEC(ZSTD),
    version          UInt64 CODEC(DoubleDelta, ZSTD),
    is_deleted       UInt8 CODEC(ZSTD),
    -- The account or contract that called the pool: the first address of a swap's log. By a dictionary it takes 0.8 to 1.4 bytes, else 1.8 to 5.
    sender           LowCardinality(FixedString(20)) CODEC(ZSTD),
    -- What the pool's hook gave (positive) or took beside the swap, as its events say: two numbers of 256 bits, little-endian. An insert takes longer
    -- for two nullable numbers than for one empty text.
    hook_amounts     String CODEC(ZSTD),
    root             Float64 ALIAS                            -- sqrt_price / 2 ^ 96
        toFloat64(toUInt64(bitShiftRight(sqrt_price, 80))) / 65536
        + toFloat64(toUInt64(bitShiftRight(sqrt_price, 16))) / 1208925819614629174706176,
    size0            Float64 ALIAS                            -- 128 bits of |amount0|
        toFloat64(toUInt64(bitShiftRight(abs(amount0), 64))) * 18446744073709551616 + toFloat64(toUInt64(abs(amount0))),
    size1            Float64 ALIAS
        toFloat64(toUInt64(bitShiftRight(abs(amount1), 64))) * 18446744073709551616 + toFloat64(toUInt64(abs(amount1))),
    price            Float64 ALIAS                            -- execution, token1 per token0
        reinterpretAsFloat64(price_ulps + reinterpretAsInt64(if(least(size0, size1) < 10000, root * root, size1 / size0) / scale)),
    spot_price       Float64 ALIAS reinterpretAsFloat64(spot_price_ulps + reinterpretAsInt64(root * root / scale)),
    hooked0          Nullable(Int256) ALIAS if(empty(hook_amounts), NULL, reinterpretAsInt256(substring(hook_amounts, 1, 32))),
    hooked1          Nullable(Int256) ALIAS if(empty(hook_amounts), NULL, reinterpretAsInt256(substring(hook_amounts, 33, 32))),
    -- A tick's part of the digest of its block: aggregator/store/digest.ts computes the same. Sums wrap at 2^64.
    tick_digest      UInt64 ALIAS
        reinterpretAsUInt64(substring(transaction_hash, 1, 8)) + log_index * 0x9e3779b97f4a7c15
        + toUInt64(amount0) + 3 * toUInt64(amount1) + 5 * toUInt64(sqrt_price),
    INDEX by_block block TYPE minmax GRANULARITY 1,
    -- Rows that the stream has left above its tip are found beside those of jobs, which have versions of their own.
    INDEX by_version version TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version, is_deleted)
PARTITION BY toYYYYMM(time)
ORDER BY (network, pool, time, block, log_index)
-- Most questions are for some rows of one pool.
SETTINGS index_granularity = 1024, merge_selector_base = 5, merge_selector_enable_heuristic_to_remove_small_parts_at_right = 0,
    auto_statistics_types = '';
