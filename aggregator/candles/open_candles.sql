-- Buckets with trades of some pools, in each resolution the one that holds this second.
SELECT
    pool, resolution, toUnixTimestamp(time) AS start,
    open, high, low, close, spot_open, spot_high, spot_low, spot_close,
    toString(volume0) AS volume0, toString(volume1) AS volume1,
    toString(toUInt256(volume_usd * 1000000)) AS volume_usd_micros,
    trades, buys, toString(bought0) AS buy_volume0, toString(bought1) AS buy_volume1, unexecuted
FROM candles FINAL
WHERE network = {network:String} AND pool IN {pools:Array(String)} AND resolution IN (1, 60, 3600, 86400)
  AND time IN (
    toDateTime({second:UInt32}, 'UTC'), toStartOfMinute(toDateTime({second:UInt32}, 'UTC')),
    toStartOfHour(toDateTime({second:UInt32}, 'UTC')), toStartOfDay(toDateTime({second:UInt32}, 'UTC')))
  AND toUnixTimestamp(time) = intDiv({second:UInt32}, resolution) * resolution AND trades > 0
