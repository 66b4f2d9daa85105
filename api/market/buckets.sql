-- The stored candles of one pool and resolution over a stretch of time, ascending, as api/market/bucket-rows.ts reads them.
SELECT
    toUInt32(toUnixTimestamp(c.time)) AS second,
    open, high, low, close, spot_open, spot_high, spot_low, spot_close, volume0, volume1, trades
FROM candles AS c FINAL
WHERE network = {network:String}
  AND pool = {pool:String}
  AND resolution = {resolution:UInt32}
  AND c.time >= toDateTime({from:UInt32}, 'UTC')
  AND c.time < toDateTime({to:UInt32}, 'UTC')
  AND c.trades > 0
ORDER BY c.time
FORMAT RowBinary
