-- The one-second buckets of some pools over a stretch of time, anew from the ticks that are left.
-- Buckets that had trades and lost them all come out with trades = 0.
INSERT INTO candles
SELECT
    {network:String} AS network,
    pool,
    toUInt32(1) AS resolution,
    time,
    argMinIf(price, place, is_tick)         AS open,
    maxIf(price, is_tick)                   AS high,
    minIf(price, is_tick)                   AS low,
    argMaxIf(price, place, is_tick)         AS close,
    argMinIf(spot_price, place, is_tick)    AS spot_open,
    maxIf(spot_price, is_tick)              AS spot_high,
    minIf(spot_price, is_tick)              AS spot_low,
    argMaxIf(spot_price, place, is_tick)    AS spot_close,
    sum(units0)                             AS volume0,
    sum(units1)                             AS volume1,
    sum(amount_usd)                         AS volume_usd,
    countIf(is_tick)                        AS trades,
    {version:UInt128}                       AS version
FROM
(
    SELECT
        pool, time, (block, log_index) AS place, price, spot_price,
        toUInt256(abs(amount0)) AS units0, toUInt256(abs(amount1)) AS units1, amount_usd,
        true AS is_tick
    FROM ticks FINAL
    WHERE network = {network:String} AND pool IN {pools:Array(String)}
      AND time >= toDateTime({from:UInt32}, 'UTC') AND time < toDateTime({to:UInt32}, 'UTC')
    UNION ALL
    SELECT
        pool, time, (toUInt64(0), toUInt32(0)) AS place, 0 AS price, 0 AS spot_price,
        toUInt256(0) AS units0, toUInt256(0) AS units1, toDecimal256(0, 6) AS amount_usd,
        false AS is_tick
    FROM candles
    WHERE network = {network:String} AND pool IN {pools:Array(String)} AND resolution = 1
      AND time >= toDateTime({from:UInt32}, 'UTC') AND time < toDateTime({to:UInt32}, 'UTC') AND trades > 0
)
GROUP BY pool, time
