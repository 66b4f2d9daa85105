-- The newest block of a network's ledger, if it is this one or a later one.
SELECT
    toString(number)     AS number,
    lower(hex(hash))     AS hash,
    toUnixTimestamp(time) AS time,
    toFloat64(finalized)  AS finalized
FROM blocks FINAL
WHERE network = {network:String}
  AND blocks.number >= {known:UInt64}
ORDER BY blocks.number DESC
LIMIT 1
