-- The stored candles of one pool and resolution over a stretch of time, ascending, as api/market/bucket-rows.ts reads them. Of each the
-- newest row counts: told by its version, it takes a third of the time of FINAL, which reads a piece of every part.
SELECT second, open, high, low, close, spot_open, spot_high, spot_low, spot_close, volume0, volume1, trades
FROM
(
    SELECT
        toUInt32(toUnixTimestamp(c.time)) AS second,
        open, high, low, close, spot_open, spot_high, spot_low, spot_close, volume0, volume1, trades
    FROM candles AS c
    PREWHERE network = {network:String}
      AND pool = {pool:String}
      AND resolution = {resolution:UInt32}
      AND c.time >= toDateTime({from:UInt32}, 'UTC')
      AND c.time < toDateTime({to:UInt32}, 'UTC')
    ORDER BY c.time, version DESC
    LIMIT 1 BY c.time
)
WHERE trades > 0
ORDER BY second
FORMAT RowBinary
