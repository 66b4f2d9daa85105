-- What each v3 pool held when it was last looked at, in a block that is on the ledger.
SELECT
    pool,
    toString(argMax(balance0, block)) AS balance0,
    toString(argMax(balance1, block)) AS balance1
FROM pool_balances FINAL
WHERE network = {network:String}
  AND pool IN {pools:Array(String)}
  AND (block, block_hash) IN
  (
      SELECT number, hash
      FROM blocks FINAL
      WHERE network = {network:String}
        AND number IN (SELECT block FROM pool_balances WHERE network = {network:String} AND pool IN {pools:Array(String)})
  )
GROUP BY pool
