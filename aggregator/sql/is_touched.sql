-- Whether anything was ever stored of a block, or of a later one up to a second. Without FINAL: what was buried counts too.
SELECT 1
FROM ticks
WHERE network = {network:String} AND block >= {first:UInt64} AND time < toDateTime({until:UInt32}, 'UTC')
  AND (empty({pools:Array(String)}) OR pool IN {pools:Array(String)})
LIMIT 1
