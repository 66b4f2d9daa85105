-- The pools and the last second of the next rows of `ticks` in the order of the key, from a place of a month on.
-- Without FINAL the rows are read in the order of the key, so only this many of each part are read. Tombstones and replaced rows count.
SELECT pool, toFloat64(count()) AS rows, toUnixTimestamp(min(time)) AS first, toUnixTimestamp(max(time)) AS last
FROM
(
    SELECT pool, time
    FROM ticks
    WHERE network = {network:String} AND time >= toDateTime({from:UInt32}, 'UTC') AND time < toDateTime({to:UInt32}, 'UTC')
      AND (pool > {pool:String} OR (pool = {pool:String} AND time >= toDateTime({second:UInt32}, 'UTC')))
    ORDER BY network, pool, time
    LIMIT {limit:UInt64}
)
GROUP BY pool
ORDER BY pool
SETTINGS max_threads = 1, max_block_size = 4096
