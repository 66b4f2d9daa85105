-- Pools with candles above the ledger's tip that were written since the checkpoint: a power cut may have left any of one flush, such as
-- a day's without its seconds'.
SELECT pool, {since:UInt32} AS first, greatest({since:UInt32}, toUnixTimestamp(max(time))) AS last
FROM candles
WHERE network = {network:String} AND version > {version:UInt128}
  AND toUnixTimestamp(time) + resolution > {since:UInt32} AND trades > 0
GROUP BY pool
