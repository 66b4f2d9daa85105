-- Pools that some blocks name, each as the newest of these names it.
SELECT
    pool                                 AS id,
    toFloat64(stored.block)              AS block,
    stored.protocol                      AS protocol,
    stored.venue                         AS venue,
    stored.hooks                         AS hooks,
    stored.fee                           AS fee,
    toString(stored.initial_sqrt_price)  AS initialSqrtPriceX96,
    CAST((token0_address, token0_symbol, token0_name, token0_decimals),
        'Tuple(address String, symbol String, name String, decimals UInt8)') AS token0,
    CAST((token1_address, token1_symbol, token1_name, token1_decimals),
        'Tuple(address String, symbol String, name String, decimals UInt8)') AS token1
FROM pools AS stored FINAL
WHERE network = {network:String} AND stored.block BETWEEN {first:UInt64} AND {last:UInt64}
ORDER BY stored.block DESC, pool
LIMIT 1 BY pool
