-- Some tokens as their pools were stored: the first pool of each has its name and decimals, others may have others.
SELECT
    token                                                                     AS address,
    argMin((m.symbol, m.name, m.decimals), (m.block, m.pool)).1               AS symbol,
    argMin((m.symbol, m.name, m.decimals), (m.block, m.pool)).2               AS name,
    argMin((m.symbol, m.name, m.decimals), (m.block, m.pool)).3               AS decimals,
    groupUniqArray(8)(m.symbol)                                               AS symbols,
    uniqExact(m.symbol, m.name) > 1                                           AS differ
FROM
(
    SELECT token0_address AS token, token0_symbol AS symbol, token0_name AS name, token0_decimals AS decimals, block, pool
    -- Without FINAL: a row that was rolled back still describes the same token.
    FROM pools
    WHERE network = {network:String} AND token0_address IN {tokens:Array(String)}
    UNION ALL
    SELECT token1_address, token1_symbol, token1_name, token1_decimals, block, pool
    FROM pools
    WHERE network = {network:String} AND token1_address IN {tokens:Array(String)}
) AS m
GROUP BY token
