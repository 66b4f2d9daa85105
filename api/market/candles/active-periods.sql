-- The newest hours or days in which a pool traded: where to look for the last trades of a long range.
SELECT
    toUnixTimestamp(c.time) AS time,
    toString(c.trades)      AS trades
FROM candles AS c FINAL
WHERE network = {network:String}
  AND pool = {pool:String}
  AND resolution = {resolution:UInt32}
  AND c.time >= toDateTime({from:UInt32}, 'UTC')
  AND c.time < toDateTime({to:UInt32}, 'UTC')
  AND c.trades > 0
  AND ({price:String} = 'spot' OR c.open > 0)
ORDER BY c.time DESC
LIMIT {limit:UInt32}
