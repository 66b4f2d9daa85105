-- The newest candles of an interval, merged from stored ones. Buckets are counted from 1970. Open and close come from the first and the last
-- stored candle in the bucket. A stored candle counts if it lies in one bucket and the next coarser candle around it does not: a whole day
-- inside a bucket is one row instead of 86,400. `resolution` is the finest that is needed. The key columns decide which candles count, so
-- that other columns are read of hardly any other rows. A bucket with only swaps of 0 for 0 has no execution price (open = 0).
WITH
    {interval:UInt32}                                                AS width,
    toUnixTimestamp(c.time)                                          AS start,
    multiIf(resolution = 1, 60, resolution = 60, 3600, 86400)        AS coarser,
    intDiv(start, coarser) * coarser                                 AS coarser_start
SELECT
    toUInt32(intDiv(start, width) * width) AS bucket,
    -- Names of their own: over shards, ClickHouse takes the name of a computed column for its expression.
    [argMinIf(c.open, c.time, c.open > 0), max(c.high), minIf(c.low, c.open > 0), argMaxIf(c.close, c.time, c.open > 0)] AS execution,
    [argMin(c.spot_open, c.time), max(c.spot_high), min(c.spot_low), argMax(c.spot_close, c.time)] AS spot,
    toString(sum(c.volume0))      AS volume0,
    toString(sum(c.volume1))      AS volume1,
    toString(toUInt256(sum(c.volume_usd) * 1000000)) AS volume_usd,
    toString(sum(c.trades))       AS trades,
    toString(sum(c.buys))         AS buys,
    toString(sum(c.bought0))      AS buy_volume0,
    toString(sum(c.bought1))      AS buy_volume1,
    toString(sum(c.unexecuted))   AS unexecuted
FROM candles AS c FINAL
PREWHERE network = {network:String}
  AND pool = {pool:String}
  AND resolution >= {resolution:UInt32}
  AND c.time >= toDateTime({from:UInt32}, 'UTC')
  AND c.time < toDateTime({to:UInt32}, 'UTC')
  AND intDiv(start, width) = intDiv(start + resolution - 1, width)
  AND (resolution = 86400 OR intDiv(coarser_start, width) != intDiv(coarser_start + coarser - 1, width))
WHERE c.trades > 0
GROUP BY bucket
HAVING {price:String} = 'spot' OR execution[1] > 0
ORDER BY bucket DESC
LIMIT {limit:UInt32}
