-- The stored candles of some pools, of each resolution over a stretch of time, ascending, each after its pool's place in the list and its
-- resolution, as api/market/cache/bucket-rows.ts reads them. Of each the newest row counts, told by its version: FINAL takes three times as long.
SELECT
    toUInt16(indexOf({pools:Array(String)}, pool) - 1) AS place,
    resolution,
    toUInt32(toUnixTimestamp(c.time)) AS second,
    open, high, low, close, spot_open, spot_high, spot_low, spot_close, volume0, volume1, trades, volume_usd
FROM candles AS c
PREWHERE network = {network:String}
  AND pool IN {pools:Array(String)}
  AND (
         (resolution = 1     AND c.time >= toDateTime({from1:UInt32}, 'UTC')     AND c.time < toDateTime({to1:UInt32}, 'UTC'))
      OR (resolution = 60    AND c.time >= toDateTime({from60:UInt32}, 'UTC')    AND c.time < toDateTime({to60:UInt32}, 'UTC'))
      OR (resolution = 3600  AND c.time >= toDateTime({from3600:UInt32}, 'UTC')  AND c.time < toDateTime({to3600:UInt32}, 'UTC'))
      OR (resolution = 86400 AND c.time >= toDateTime({from86400:UInt32}, 'UTC') AND c.time < toDateTime({to86400:UInt32}, 'UTC')))
ORDER BY place, resolution, c.time, version DESC
LIMIT 1 BY place, resolution, c.time
SETTINGS max_threads = 1
FORMAT RowBinary
