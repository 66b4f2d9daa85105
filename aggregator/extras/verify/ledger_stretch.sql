-- The next rows of the ledger from a block on, as many as hold so many ticks: the last one, the times of the first and the last.
-- Without FINAL the rows are read in the order of the key, so only this many of each part are read. Tombstones and replaced rows count.
SELECT
    toFloat64(maxIf(number, so_far - ticks <= {ticks:UInt64})) AS last,
    toUnixTimestamp(min(time)) AS since,
    toUnixTimestamp(maxIf(time, so_far - ticks <= {ticks:UInt64})) AS until,
    toFloat64(count()) AS rows
FROM
(
    SELECT number, time, ticks, sum(ticks) OVER (ORDER BY number ROWS UNBOUNDED PRECEDING) AS so_far
    FROM
    (
        SELECT number, time, toUInt64(blocks.ticks) AS ticks
        FROM blocks
        WHERE network = {network:String} AND number BETWEEN {from:UInt64} AND {to:UInt64}
        ORDER BY network, number
        LIMIT {rows:UInt64}
    )
)
SETTINGS max_threads = 1
