-- Candles of some pools and resolutions that hold a second from `first` to `last` and have this version or a later one, each after its pool's
-- place in the list, its resolution and its version. Includes candles that lost their trades.
SELECT
    toUInt16(indexOf({pools:Array(String)}, pool) - 1) AS place,
    resolution,
    version,
    toUInt32(toUnixTimestamp(c.time)) AS second,
    open, high_ulps, low_ulps, close_ulps, spot_open_ulps, spot_high_ulps, spot_low_ulps, spot_close_ulps, volume0, volume1, trades, volume_usd,
    buys, mixed_buys0, mixed_buys1, unexecuted
FROM candles AS c
PREWHERE network = {network:String}
  AND pool IN {pools:Array(String)}
  AND resolution IN {resolutions:Array(UInt32)}
  AND c.time >= toStartOfDay(toDateTime({first:UInt32}, 'UTC'))
  AND c.time <= toDateTime({last:UInt32}, 'UTC')
  AND toUnixTimestamp(c.time) >= intDiv({first:UInt32}, resolution) * resolution
  AND version >= {version:UInt128}
SETTINGS max_threads = 1
FORMAT RowBinary
