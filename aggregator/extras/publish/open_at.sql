-- Buckets with trades that hold this second: they were still open then.
SELECT pool, resolution, toUnixTimestamp(time) AS start
FROM candles FINAL
WHERE network = {network:String} AND trades > 0
  AND ((resolution = 1 AND time = toDateTime({second:UInt32}, 'UTC'))
    OR (resolution = 60 AND time = toStartOfMinute(toDateTime({second:UInt32}, 'UTC')))
    OR (resolution = 3600 AND time = toStartOfHour(toDateTime({second:UInt32}, 'UTC')))
    OR (resolution = 86400 AND time = toStartOfDay(toDateTime({second:UInt32}, 'UTC'))))
