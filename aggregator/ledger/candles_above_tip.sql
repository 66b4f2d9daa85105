-- Pools with candles that hold the ledger's tip or are later, above the complete version: candles are inserted beside their ticks, and
-- may be stored without them.
SELECT pool, toUnixTimestamp(min(time)) AS first, toUnixTimestamp(max(time)) AS last
FROM candles
WHERE network = {network:String} AND resolution = 1 AND time >= toDateTime({since:UInt32}, 'UTC') AND trades > 0
  AND version > {completeVersion:UInt128}
GROUP BY pool
