-- Recomputes the buckets of one resolution from the next finer one, in one read of both. A bucket that lost all of its trades gets
-- trades = 0.
INSERT INTO candles
WITH
    c.resolution = {finer:UInt32}  AS is_finer,
    is_finer AND c.open > 0        AS is_executed
SELECT
    {network:String} AS network,
    c.pool,
    {resolution:UInt32} AS resolution,
    toDateTime(intDiv(toUnixTimestamp(c.time), {resolution:UInt32}) * {resolution:UInt32}, 'UTC') AS bucket,
    argMinIf(c.open, c.time, is_executed)    AS open,
    maxIf(c.high, is_executed)               AS high,
    minIf(c.low, is_executed)                AS low,
    argMaxIf(c.close, c.time, is_executed)   AS close,
    argMinIf(c.spot_open, c.time, is_finer)  AS spot_open,
    maxIf(c.spot_high, is_finer)             AS spot_high,
    minIf(c.spot_low, is_finer)              AS spot_low,
    argMaxIf(c.spot_close, c.time, is_finer) AS spot_close,
    sumIf(c.volume0, is_finer)               AS volume0,
    sumIf(c.volume1, is_finer)               AS volume1,
    sumIf(c.volume_usd, is_finer)            AS volume_usd,
    sumIf(c.trades, is_finer)                AS trades,
    {version:UInt128}                        AS version
FROM candles AS c FINAL
WHERE c.network = {network:String} AND c.pool IN {pools:Array(String)}
  AND c.resolution IN ({finer:UInt32}, {resolution:UInt32})
  AND c.time >= toDateTime({from:UInt32}, 'UTC') AND c.time < toDateTime({to:UInt32}, 'UTC') AND c.trades > 0
GROUP BY c.pool, bucket
