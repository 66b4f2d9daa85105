-- The buckets of one resolution, anew from those of the next finer one.
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
    sumIf(c.volume0, is_finer)               AS volume0,
    sumIf(c.volume1, is_finer)               AS volume1,
    sumIf(c.volume_usd, is_finer)            AS volume_usd,
    sumIf(c.trades, is_finer)                AS trades,
    {version:UInt128}                        AS version
FROM
(
    SELECT
        *, true AS is_finer,
        toDateTime(intDiv(toUnixTimestamp(time), {resolution:UInt32}) * {resolution:UInt32}, 'UTC') AS bucket
    FROM candles FINAL
    WHERE network = {network:String} AND pool IN {pools:Array(String)} AND resolution = {finer:UInt32}
      AND time >= toDateTime({from:UInt32}, 'UTC') AND time < toDateTime({to:UInt32}, 'UTC') AND trades > 0
    UNION ALL
    SELECT
        *, false AS is_finer, time AS bucket
    FROM candles
    WHERE network = {network:String} AND pool IN {pools:Array(String)} AND resolution = {resolution:UInt32}
      AND time >= toDateTime({from:UInt32}, 'UTC') AND time < toDateTime({to:UInt32}, 'UTC') AND trades > 0
) AS c
GROUP BY pool, bucket
