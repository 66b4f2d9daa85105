-- Recomputes the buckets of one resolution from the next finer one, in one read of both. A bucket that lost all of its trades gets
-- trades = 0.
INSERT INTO candles
(
    network, pool, resolution, time, open, close_ulps, high_ulps, low_ulps, spot_open_ulps, spot_close_ulps, spot_high_ulps, spot_low_ulps,
    volume0, volume1, volume_usd, trades, buys, mixed_buys0, mixed_buys1, unexecuted, version
)
WITH
    c.resolution = {finer:UInt32}  AS is_finer,
    is_finer AND c.open > 0        AS is_executed,
    reinterpretAsInt64(first_price)                          AS first_bits,
    reinterpretAsInt64(argMaxIf(c.close, c.time, is_executed))   AS last_bits,
    reinterpretAsInt64(argMinIf(c.spot_open, c.time, is_finer))  AS first_spot_bits,
    reinterpretAsInt64(argMaxIf(c.spot_close, c.time, is_finer)) AS last_spot_bits
SELECT
    {network:String} AS network,
    c.pool,
    {resolution:UInt32} AS resolution,
    toDateTime(intDiv(toUnixTimestamp(c.time), {resolution:UInt32}) * {resolution:UInt32}, 'UTC') AS bucket,
    argMinIf(c.open, c.time, is_executed)    AS first_price,
    last_bits - first_bits                   AS close_ulps,
    reinterpretAsInt64(maxIf(c.high, is_executed)) - greatest(first_bits, last_bits)         AS high_ulps,
    reinterpretAsInt64(minIf(c.low, is_executed)) - least(first_bits, last_bits)             AS low_ulps,
    first_spot_bits - first_bits             AS spot_open_ulps,
    last_spot_bits - first_spot_bits         AS spot_close_ulps,
    reinterpretAsInt64(maxIf(c.spot_high, is_finer)) - greatest(first_spot_bits, last_spot_bits) AS spot_high_ulps,
    reinterpretAsInt64(minIf(c.spot_low, is_finer)) - least(first_spot_bits, last_spot_bits)     AS spot_low_ulps,
    sumIf(c.volume0, is_finer)               AS volume0,
    sumIf(c.volume1, is_finer)               AS volume1,
    sumIf(c.volume_usd, is_finer)            AS volume_usd,
    sumIf(c.trades, is_finer)                AS trades,
    sumIf(c.buys, is_finer)                  AS buys,
    buys = trades ? toUInt256(0) : sumIf(c.bought0, is_finer) AS mixed_buys0,
    buys = trades ? toUInt256(0) : sumIf(c.bought1, is_finer) AS mixed_buys1,
    sumIf(c.unexecuted, is_finer)            AS unexecuted,
    {version:UInt128}                        AS version
FROM candles AS c FINAL
WHERE c.network = {network:String} AND c.pool IN {pools:Array(String)}
  AND c.resolution IN ({finer:UInt32}, {resolution:UInt32})
  AND c.time >= toDateTime({from:UInt32}, 'UTC') AND c.time < toDateTime({to:UInt32}, 'UTC') AND c.trades > 0
GROUP BY c.pool, bucket
