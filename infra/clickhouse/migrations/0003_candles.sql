-- Candles of four resolutions. aggregator/maintenance/part-merges.ts merges parts of history where a first query would open too many.
-- No statistics: each question reads by a key, and counting the values of columns takes a tenth of a merge.
-- Parts of less than 5 MB count as if they had 5 MB, so a low `merge_selector_base` has every few blocks of a live chain rewrite the newest parts; and
-- all small parts beside a larger one are merged into it, or each block rewrites the larger one.
-- Computed columns have names that no answer has: over shards, ClickHouse takes `toString(x) AS x` for two expressions of one name.
-- ZSTD where it makes a column smaller: on the others, which are nearly constant or as good as random, it takes a sixth of the CPU of inserts and merges.
-- A part is one file at any size: a first question reads some rows of all columns, and to open 17 files takes half of its CPU.
CREATE TABLE IF NOT EXISTS candles
(
    network    LowCardinality(String),
    pool       String,
    resolution UInt32,                            -- seconds: 1, 60, 3600 or 86400
    time       DateTime('UTC') CODEC(DoubleDelta, ZSTD),
    open       Float64 CODEC(LZ4),                -- execution price of the first swap
    -- Prices as distances in units in the last place: most seconds have one swap, and most others are highest and lowest at an end.
    close_ulps      Int64 CODEC(ZSTD),            -- from open
    high_ulps       Int64 CODEC(LZ4),             -- from the higher of open and close
    low_ulps        Int64 CODEC(LZ4),             -- from the lower one
    spot_open_ulps  Int64 CODEC(T64, LZ4),        -- from open
    spot_close_ulps Int64 CODEC(ZSTD),            -- from spot_open, and so on
    spot_high_ulps  Int64 CODEC(LZ4),
    spot_low_ulps   Int64 CODEC(LZ4),
    volume0    UInt256 CODEC(ZSTD),               -- raw units, sum of |amount0|
    volume1    UInt256 CODEC(ZSTD),
    volume_usd Decimal(76, 6) CODEC(ZSTD),
    trades     UInt64 CODEC(T64, ZSTD),           -- 0: the bucket lost all its ticks, and is never shown
    buys       UInt64 CODEC(T64, ZSTD),           -- trades whose taker received token0
    mixed_buys0 UInt256 CODEC(LZ4),               -- bought parts of the volumes; 0 where they are all or nothing
    mixed_buys1 UInt256 CODEC(LZ4),
    unexecuted UInt64 CODEC(LZ4),                 -- trades of 0 for 0: buys in either direction of the pair
    version    UInt128 CODEC(LZ4),                -- epoch of the owner, then a counter of its writes
    high       Float64 ALIAS reinterpretAsFloat64(reinterpretAsInt64(open) + greatest(close_ulps, 0) + high_ulps),
    low        Float64 ALIAS reinterpretAsFloat64(reinterpretAsInt64(open) + least(close_ulps, 0) + low_ulps),
    close      Float64 ALIAS reinterpretAsFloat64(reinterpretAsInt64(open) + close_ulps),
    spot_open  Float64 ALIAS reinterpretAsFloat64(reinterpretAsInt64(open) + spot_open_ulps), -- spot price after the first swap
    spot_high  Float64 ALIAS reinterpretAsFloat64(reinterpretAsInt64(spot_open) + greatest(spot_close_ulps, 0) + spot_high_ulps),
    spot_low   Float64 ALIAS reinterpretAsFloat64(reinterpretAsInt64(spot_open) + least(spot_close_ulps, 0) + spot_low_ulps),
    spot_close Float64 ALIAS reinterpretAsFloat64(reinterpretAsInt64(spot_open) + spot_close_ulps),
    bought0    UInt256 ALIAS buys = trades ? volume0 : mixed_buys0, -- what those takers received
    bought1    UInt256 ALIAS buys = trades ? volume1 : mixed_buys1, -- what they paid
    -- Candles that were written lately are found without a read of all others.
    INDEX by_version version TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (network, pool, resolution, time)
SETTINGS index_granularity = 2048, min_bytes_for_wide_part = 1000000000000, merge_selector_base = 6,
    merge_selector_enable_heuristic_to_remove_small_parts_at_right = 0, auto_statistics_types = '';
