-- The newest balances of v3 pools.
SELECT
    pool,
    toString(argMax(balance0, hour)) AS balance0,
    toString(argMax(balance1, hour)) AS balance1
FROM pool_balance_hours FINAL
WHERE network = {network:String}
  AND pool IN {pools:Array(String)}
GROUP BY pool
