-- Pools of a network from one id to before another, or those of them that are named, as their newest sighting tells of them; the price they began with from whichever sighting has it.
SELECT
    pool,
    argMax(p.protocol, p.block)         AS protocol,
    argMax(p.venue, p.block)            AS venue,
    argMax(p.fee, p.block)              AS fee,
    toString(max(p.initial_sqrt_price)) AS initial_sqrt_price,
    toFloat64(minIf(p.block, p.initial_sqrt_price > 0)) AS created,
    toUnixTimestamp(min(p.time))        AS first_seen,
    argMax(p.token0_address, p.block)   AS token0_address,
    argMax(p.token0_symbol, p.block)    AS token0_symbol,
    argMax(p.token0_name, p.block)      AS token0_name,
    argMax(p.token0_decimals, p.block)  AS token0_decimals,
    argMax(p.token1_address, p.block)   AS token1_address,
    argMax(p.token1_symbol, p.block)    AS token1_symbol,
    argMax(p.token1_name, p.block)      AS token1_name,
    argMax(p.token1_decimals, p.block)  AS token1_decimals
FROM pools AS p FINAL
WHERE network = {network:String}
  AND pool >= {first:String}
  AND pool < {end:String}
  AND (empty({pools:Array(String)}) OR pool IN {pools:Array(String)})
GROUP BY pool
