-- Where a network's ledger begins. The oldest rows may be tombstones, so the oldest stretch is read with FINAL.
WITH (SELECT number FROM blocks WHERE network = {network:String} ORDER BY number LIMIT 1) AS oldest
SELECT
    toFloat64(first)      AS first,
    toUnixTimestamp(time) AS time
FROM blocks FINAL
WHERE network = {network:String}
  AND blocks.number < ifNull(oldest, 0) + 50000
ORDER BY blocks.number
LIMIT 1
