-- Pools with ticks in some blocks. Without FINAL: a repeated overwrite must see the buckets whose ticks have tombstones already.
SELECT
    pool, toUnixTimestamp(min(time)) AS first, toUnixTimestamp(max(time)) AS last,
    min(version) < {row:UInt64} AS has_older
FROM ticks
WHERE network = {network:String} AND block BETWEEN {first:UInt64} AND {last:UInt64}
  AND (empty({pools:Array(String)}) OR pool IN {pools:Array(String)})
GROUP BY pool
