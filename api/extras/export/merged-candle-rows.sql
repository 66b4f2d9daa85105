-- Candles of any other interval, merged from stored ones as api/market/candles/candles.sql does it.
WITH
    {interval:UInt32}                                                AS width,
    toUnixTimestamp(c.time)                                          AS start,
    multiIf(resolution = 1, 60, resolution = 60, 3600, 86400)        AS coarser,
    intDiv(start, coarser) * coarser                                 AS coarser_start,
    {price:String} = 'spot' OR c.open > 0                            AS is_priced
SELECT
    network, pool,
    toDateTime(intDiv(start, width) * width, 'UTC')                                AS bucket,
    argMinIf({price:String} = 'spot' ? c.spot_open : c.open, c.time, is_priced)    AS first_price,
    max({price:String} = 'spot' ? c.spot_high : c.high)                            AS high_price,
    minIf({price:String} = 'spot' ? c.spot_low : c.low, is_priced)                 AS low_price,
    argMaxIf({price:String} = 'spot' ? c.spot_close : c.close, c.time, is_priced)  AS last_price,
    sum(c.volume0) AS volume0, sum(c.volume1) AS volume1, sum(c.volume_usd) AS volume_usd,
    sum(c.bought0) AS buy_volume0, sum(c.bought1) AS buy_volume1,
    {price:String} = 'spot' ? sum(c.unexecuted) : 0             AS idle,
    toUInt64(sum(c.trades) - sum(c.unexecuted) + idle)          AS trades,
    toUInt64(sum(c.buys) - sum(c.unexecuted) + idle)            AS buys
FROM candles AS c FINAL
PREWHERE network = {network:String}
  AND ({pool:String} = '' OR pool = {pool:String})
  AND resolution >= {resolution:UInt32}
  AND c.time >= toDateTime({from:UInt32}, 'UTC')
  AND c.time < toDateTime({to:UInt32}, 'UTC')
  AND intDiv(start, width) = intDiv(start + resolution - 1, width)
  AND (resolution = 86400 OR intDiv(coarser_start, width) != intDiv(coarser_start + coarser - 1, width))
WHERE c.trades > 0
GROUP BY network, pool, bucket
HAVING first_price > 0
ORDER BY network, pool, bucket
