-- The newest trade before a point in time: looked for in its minute, its hour, its day and the days before (see windows.ts).
SELECT
    toUnixTimestamp(c.time)              AS "from",
    toUnixTimestamp(c.time) + resolution AS "to",
    close,
    spot_close
FROM candles AS c FINAL
WHERE network = {network:String}
  AND pool = {pool:String}
  AND (
         (resolution = 86400 AND c.time < toDateTime({t4:UInt32}, 'UTC'))
      OR (resolution = 3600  AND c.time >= toDateTime({t4:UInt32}, 'UTC') AND c.time < toDateTime({t5:UInt32}, 'UTC'))
      OR (resolution = 60    AND c.time >= toDateTime({t5:UInt32}, 'UTC') AND c.time < toDateTime({t6:UInt32}, 'UTC'))
      OR (resolution = 1     AND c.time >= toDateTime({t6:UInt32}, 'UTC') AND c.time < toDateTime({t7:UInt32}, 'UTC')))
  AND c.trades > 0
ORDER BY c.time DESC
LIMIT 1
