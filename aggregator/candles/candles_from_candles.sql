-- The buckets of one resolution, recomputed from those of the next finer one.
-- Buckets that had trades and lost them all come out with trades = 0.
INSERT INTO candles
SELECT
    {network:String} AS network,
    pool,
    {resolution:UInt32} AS resolution,
    bucket AS time,
    argMinIf(c.open, c.time, is_finer)       AS open,
    maxIf(c.high, is_finer)                  AS high,
    minIf(c.low, is_finer)                   AS low,
    argMaxIf(c.close, c.time, is_finer)      AS close,
    argMinIf(c.spot_open, c.time, is_finer)  AS spot_open,
    maxIf(c.spot_high, is_finer)             AS spot_high,
    minIf(c.spot_low, is_finer)              AS spot_low,
    argMaxIf(c.spot_close, c.time, is_finer) AS spot_close,
    sum(c.volume0)                           AS volume0,
    sum(c.volume1)                           AS volume1,
    sum(c.volume_usd)                        AS volume_usd,
    sum(c.trades)                            AS trades,
    {version:UInt128}                        AS version
FROM
(
    SELECT
        pool, time, open, high, low, close, spot_open, spot_high, spot_low, spot_close,
        volume0, volume1, volume_usd, trades, true AS is_finer,
        toDateTime(intDiv(toUnixTimestamp(time), {resolution:UInt32}) * {resolution:UInt32}, 'UTC') AS bucket
    FROM candles FINAL
    WHERE network = {network:String} AND pool IN {pools:Array(String)} AND resolution = {finer:UInt32}
      AND time >= toDateTime({from:UInt32}, 'UTC') AND time < toDateTime({to:UInt32}, 'UTC') AND trades > 0
    UNION ALL
    SELECT
        pool, time, 0 AS open, 0 AS high, 0 AS low, 0 AS close,
        0 AS spot_open, 0 AS spot_high, 0 AS spot_low, 0 AS spot_close,
        toUInt256(0) AS volume0, toUInt256(0) AS volume1, toDecimal256(0, 6) AS volume_usd, toUInt64(0) AS trades,
        false AS is_finer, time AS bucket
    FROM candles
    WHERE network = {network:String} AND pool IN {pools:Array(String)} AND resolution = {resolution:UInt32}
      AND time >= toDateTime({from:UInt32}, 'UTC') AND time < toDateTime({to:UInt32}, 'UTC') AND candles.trades > 0
) AS c
GROUP BY pool, bucket
