-- The newest candles of an interval, merged from stored ones of the coarsest resolution that divides it. Buckets are counted
-- from 1970. Open and close are those of the first and the last stored candle in the bucket.
SELECT
    toUInt32(intDiv(toUnixTimestamp(c.time), {interval:UInt32}) * {interval:UInt32}) AS bucket,
    argMin(c.open, c.time)        AS open,
    max(c.high)                   AS high,
    min(c.low)                    AS low,
    argMax(c.close, c.time)       AS close,
    argMin(c.spot_open, c.time)   AS spot_open,
    max(c.spot_high)              AS spot_high,
    min(c.spot_low)               AS spot_low,
    argMax(c.spot_close, c.time)  AS spot_close,
    toString(sum(c.volume0))      AS volume0,
    toString(sum(c.volume1))      AS volume1,
    toString(sum(c.trades))       AS trades
FROM candles AS c FINAL
WHERE network = {network:String}
  AND pool = {pool:String}
  AND resolution = {resolution:UInt32}
  AND c.time >= toDateTime({from:UInt32}, 'UTC')
  AND c.time < toDateTime({to:UInt32}, 'UTC')
  AND c.trades > 0
GROUP BY bucket
ORDER BY bucket DESC
LIMIT {limit:UInt32}
