-- Those of some pools that are known, as the newest block that speaks of each names them.
SELECT
    pool                AS id,
    protocol, venue, fee,
    token0_address, token0_symbol, token0_name, token0_decimals,
    token1_address, token1_symbol, token1_name, token1_decimals
FROM pools FINAL
WHERE network = {network:String} AND pool IN {pools:Array(String)}
ORDER BY pool, block DESC
LIMIT 1 BY pool
