-- The stored ones of some pools, each as the newest block that names it describes it.
SELECT
    pool                AS id,
    protocol, venue, hooks, fee,
    token0_address, token0_symbol, token0_name, token0_decimals,
    token1_address, token1_symbol, token1_name, token1_decimals
FROM pools FINAL
WHERE network = {network:String} AND pool IN {pools:Array(String)}
ORDER BY pool, block DESC
LIMIT 1 BY pool
