-- The candles of some pools and resolutions that hold a second from `first` to `last`, each after its pool's place in the list and its resolution.
SELECT
    toUInt16(indexOf({pools:Array(String)}, pool) - 1) AS place,
    resolution,
    toUInt32(toUnixTimestamp(c.time)) AS second,
    open, high, low, close, spot_open, spot_high, spot_low, spot_close, volume0, volume1, trades
FROM candles AS c FINAL
WHERE network = {network:String}
  AND pool IN {pools:Array(String)}
  AND resolution IN {resolutions:Array(UInt32)}
  AND (
         (resolution = 1     AND c.time >= toDateTime({first:UInt32}, 'UTC'))
      OR (resolution = 60    AND c.time >= toStartOfMinute(toDateTime({first:UInt32}, 'UTC')))
      OR (resolution = 3600  AND c.time >= toStartOfHour(toDateTime({first:UInt32}, 'UTC')))
      OR (resolution = 86400 AND c.time >= toStartOfDay(toDateTime({first:UInt32}, 'UTC'))))
  AND c.time <= toDateTime({last:UInt32}, 'UTC')
  AND c.trades > 0
ORDER BY place, resolution, c.time
FORMAT RowBinary
