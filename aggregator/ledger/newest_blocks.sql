-- Blocks on the ledger within a stretch, newest first.
SELECT
    toFloat64(number)     AS number,
    lower(hex(hash))      AS hash,
    toUnixTimestamp(time) AS timestamp,
    toFloat64(finalized)  AS finalized,
    toString(version)     AS version
FROM blocks FINAL
WHERE network = {network:String}
  AND blocks.number >= {since:UInt64}
  AND blocks.number < {below:UInt64}
ORDER BY blocks.number DESC
LIMIT {limit:UInt64}
