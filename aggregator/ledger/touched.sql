-- What the stream has left above a block; what states final history stays. Without FINAL: a replay must see the buckets whose ticks it
-- has already buried.
SELECT pool, toUnixTimestamp(min(time)) AS first, toUnixTimestamp(max(time)) AS last
FROM ticks
WHERE network = {network:String} AND block > {block:Int64} AND time >= toDateTime({since:UInt32}, 'UTC')
  AND version < {final:UInt64}
GROUP BY pool
