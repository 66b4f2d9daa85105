-- The stretch of the ledger that holds its newest rows below a block, tombstones and replaced rows included.
-- Without FINAL the rows are read in the order of the key, so only this many of each part are read.
SELECT
    toFloat64(min(number)) AS since,
    toFloat64(count())     AS rows
FROM
(
    SELECT number
    FROM blocks
    WHERE network = {network:String}
      AND number < {below:UInt64}
    ORDER BY network DESC, number DESC
    LIMIT {limit:UInt64}
)
