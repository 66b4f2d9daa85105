-- Buckets of some pools that hold a second from `since` to `until`, with or without trades.
SELECT
    pool, resolution, toUnixTimestamp(time) AS start,
    open, high, low, close, spot_open, spot_high, spot_low, spot_close,
    toString(volume0) AS volume0, toString(volume1) AS volume1,
    toString(toUInt256(volume_usd * 1000000)) AS volume_usd_micros,
    trades, buys, toString(bought0) AS buy_volume0, toString(bought1) AS buy_volume1, unexecuted,
    toString(version) AS version
FROM candles FINAL
WHERE network = {network:String} AND pool IN {pools:Array(String)}
  AND time <= toDateTime({until:UInt32}, 'UTC')
  AND ((resolution = 1 AND time >= toDateTime({since:UInt32}, 'UTC'))
    OR (resolution = 60 AND time >= toStartOfMinute(toDateTime({since:UInt32}, 'UTC')))
    OR (resolution = 3600 AND time >= toStartOfHour(toDateTime({since:UInt32}, 'UTC')))
    OR (resolution = 86400 AND time >= toStartOfDay(toDateTime({since:UInt32}, 'UTC'))))
