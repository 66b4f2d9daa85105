-- What each pool traded in a range: days where it holds any, finer candles at its edges (see windows.ts).
SELECT
    pool,
    toString(sum(c.trades))     AS trades,
    toString(sum(c.volume_usd)) AS volume_usd
FROM candles AS c FINAL
WHERE network = {network:String}
  AND pool IN {pools:Array(String)}
  AND (
         (resolution = 1     AND c.time >= toDateTime({t0:UInt32}, 'UTC') AND c.time < toDateTime({t1:UInt32}, 'UTC'))
      OR (resolution = 60    AND c.time >= toDateTime({t1:UInt32}, 'UTC') AND c.time < toDateTime({t2:UInt32}, 'UTC'))
      OR (resolution = 3600  AND c.time >= toDateTime({t2:UInt32}, 'UTC') AND c.time < toDateTime({t3:UInt32}, 'UTC'))
      OR (resolution = 86400 AND c.time >= toDateTime({t3:UInt32}, 'UTC') AND c.time < toDateTime({t4:UInt32}, 'UTC'))
      OR (resolution = 3600  AND c.time >= toDateTime({t4:UInt32}, 'UTC') AND c.time < toDateTime({t5:UInt32}, 'UTC'))
      OR (resolution = 60    AND c.time >= toDateTime({t5:UInt32}, 'UTC') AND c.time < toDateTime({t6:UInt32}, 'UTC'))
      OR (resolution = 1     AND c.time >= toDateTime({t6:UInt32}, 'UTC') AND c.time < toDateTime({t7:UInt32}, 'UTC')))
  AND c.trades > 0
GROUP BY pool
