-- What each pool has traded since the first indexed block, and the last day on which it did.
SELECT
    pool,
    toString(sum(c.trades))               AS trades,
    toString(sum(c.volume_usd))           AS volume_usd,
    toUnixTimestamp(max(c.time))          AS last_day
FROM candles AS c FINAL
WHERE network = {network:String}
  AND pool IN {pools:Array(String)}
  AND resolution = 86400
  AND c.trades > 0
GROUP BY pool
