-- Pools with rows of the stream above a block; final history of jobs stays. Without FINAL: a repetition must see the buckets whose ticks
-- have tombstones already.
SELECT pool, toUnixTimestamp(min(time)) AS first, toUnixTimestamp(max(time)) AS last
FROM ticks
WHERE network = {network:String} AND block > {block:Int64} AND time >= toDateTime({since:UInt32}, 'UTC')
  AND version < {final:UInt64}
GROUP BY pool
