-- Brings up to date what files before this one did not have at first: migrate.ts lists their former checksums. Newer tables have it all.
-- Candles from before count no buys until they are rebuilt. The granularity of the index of candles stays: it can't be altered.
ALTER TABLE ticks
    ADD COLUMN IF NOT EXISTS hook_amounts String CODEC(ZSTD) AFTER sender,
    ADD COLUMN IF NOT EXISTS hooked0 Nullable(Int256)
        ALIAS if(empty(hook_amounts), NULL, reinterpretAsInt256(substring(hook_amounts, 1, 32))) AFTER spot_price,
    ADD COLUMN IF NOT EXISTS hooked1 Nullable(Int256)
        ALIAS if(empty(hook_amounts), NULL, reinterpretAsInt256(substring(hook_amounts, 33, 32))) AFTER hooked0;

ALTER TABLE pools
    ADD COLUMN IF NOT EXISTS hooks LowCardinality(String) AFTER venue;

ALTER TABLE candles
    ADD COLUMN IF NOT EXISTS buys UInt64 CODEC(T64, ZSTD) AFTER trades,
    ADD COLUMN IF NOT EXISTS mixed_buys0 UInt256 CODEC(LZ4) AFTER buys,
    ADD COLUMN IF NOT EXISTS mixed_buys1 UInt256 CODEC(LZ4) AFTER mixed_buys0,
    ADD COLUMN IF NOT EXISTS unexecuted UInt64 CODEC(LZ4) AFTER mixed_buys1,
    ADD COLUMN IF NOT EXISTS bought0 UInt256 ALIAS buys = trades ? volume0 : mixed_buys0 AFTER spot_close,
    ADD COLUMN IF NOT EXISTS bought1 UInt256 ALIAS buys = trades ? volume1 : mixed_buys1 AFTER bought0,
    MODIFY COLUMN open CODEC(LZ4),
    MODIFY COLUMN high_ulps CODEC(LZ4),
    MODIFY COLUMN low_ulps CODEC(LZ4),
    MODIFY COLUMN spot_open_ulps CODEC(T64, LZ4),
    MODIFY COLUMN spot_high_ulps CODEC(LZ4),
    MODIFY COLUMN spot_low_ulps CODEC(LZ4),
    MODIFY COLUMN trades CODEC(T64, ZSTD),
    MODIFY COLUMN version CODEC(LZ4),
    MODIFY SETTING min_bytes_for_wide_part = 1000000000000;

CREATE OR REPLACE VIEW market_candles AS
SELECT
    c.network                                          AS network,
    c.pool                                             AS pool,
    p.pair                                             AS pair,
    c.resolution                                       AS resolution,      -- seconds: 1, 60, 3600 or 86400
    c.time                                             AS time,
    c.open                                             AS open,            -- execution prices, token1 per token0
    c.high                                             AS high,
    c.low                                              AS low,
    c.close                                            AS close,
    c.spot_open                                        AS spot_open,
    c.spot_high                                        AS spot_high,
    c.spot_low                                         AS spot_low,
    c.spot_close                                       AS spot_close,
    toFloat64(c.volume0) / exp10(p.decimals0)          AS volume0,
    toFloat64(c.volume1) / exp10(p.decimals1)          AS volume1,
    toFloat64(c.volume_usd)                            AS volume_usd,
    c.trades                                           AS trades,
    c.buys                                             AS buys,            -- trades whose taker received token0
    toFloat64(c.bought0) / exp10(p.decimals0)          AS buy_volume0,     -- what they received
    toFloat64(c.bought1) / exp10(p.decimals1)          AS buy_volume1      -- what they paid
FROM candles AS c FINAL
LEFT ANY JOIN market_pools AS p ON p.network = c.network AND p.pool = c.pool
WHERE c.trades > 0;
