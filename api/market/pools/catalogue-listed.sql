-- Pools of a network between two of some tokens, also those that a rollback has removed.
SELECT DISTINCT pool
FROM pools
WHERE network = {network:String}
  AND token0_address IN {tokens:Array(String)}
  AND token1_address IN {tokens:Array(String)}
ORDER BY pool
LIMIT {rows:UInt32}
