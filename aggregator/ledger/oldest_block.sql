-- The oldest block on the ledger among the oldest rows from a block on, tombstones and replaced rows included.
WITH
(
    SELECT (max(number), count())
    FROM
    (
        SELECT number
        FROM blocks
        WHERE network = {network:String}
          AND number >= {from:UInt64}
        ORDER BY network, number
        LIMIT {limit:UInt64}
    )
) AS window
SELECT
    toFloat64(window.1)    AS last,
    toFloat64(window.2)    AS rows,
    toFloat64(min(number)) AS oldest,
    toUnixTimestamp(argMin(time, number)) AS time,
    toFloat64(count())     AS blocks
FROM blocks FINAL
WHERE network = {network:String}
  AND blocks.number >= {from:UInt64}
  AND blocks.number <= window.1
