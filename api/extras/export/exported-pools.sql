-- The pools of an export in the direction of its prices. A curated symbol goes before that of the contract, which anyone can copy.
SELECT
    pool,
    m.decimals0 AS decimals0,
    m.decimals1 AS decimals1,
    transform(m.token0, {addresses:Array(String)}, {symbols:Array(String)}, if(n0.token = '', m.met0, n0.symbol)) AS shown0,
    transform(m.token1, {addresses:Array(String)}, {symbols:Array(String)}, if(n1.token = '', m.met1, n1.symbol)) AS shown1,
    {formulas:String} != '' AND match(shown0, {formulas:String}) ? concat('\'', shown0) : shown0 AS symbol0,
    {formulas:String} != '' AND match(shown1, {formulas:String}) ? concat('\'', shown1) : shown1 AS symbol1
FROM
(
    SELECT
        pool,
        argMax(p.token0_address, p.block)  AS token0,
        argMax(p.token1_address, p.block)  AS token1,
        argMax(p.token0_symbol, p.block)   AS met0,
        argMax(p.token1_symbol, p.block)   AS met1,
        argMax(p.token0_decimals, p.block) AS decimals0,
        argMax(p.token1_decimals, p.block) AS decimals1
    FROM pools AS p FINAL
    WHERE network = {network:String} AND ({pool:String} = '' OR pool = {pool:String})
    GROUP BY pool
) AS m
LEFT ANY JOIN (SELECT token, argMax(t.symbol, t.block) AS symbol FROM token_names AS t WHERE network = {network:String} GROUP BY token) AS n0
    ON n0.token = m.token0
LEFT ANY JOIN (SELECT token, argMax(t.symbol, t.block) AS symbol FROM token_names AS t WHERE network = {network:String} GROUP BY token) AS n1
    ON n1.token = m.token1
