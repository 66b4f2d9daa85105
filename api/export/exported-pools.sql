-- The pools of an export in the direction of its prices. A curated symbol goes before that of the contract, which anyone can copy.
SELECT
    pool,
    argMax(p.token0_decimals, p.block) AS decimals0,
    argMax(p.token1_decimals, p.block) AS decimals1,
    transform(argMax(p.token0_address, p.block), {addresses:Array(String)}, {symbols:Array(String)}, argMax(p.token0_symbol, p.block)) AS shown0,
    transform(argMax(p.token1_address, p.block), {addresses:Array(String)}, {symbols:Array(String)}, argMax(p.token1_symbol, p.block)) AS shown1,
    {formulas:String} != '' AND match(shown0, {formulas:String}) ? concat('\'', shown0) : shown0 AS symbol0,
    {formulas:String} != '' AND match(shown1, {formulas:String}) ? concat('\'', shown1) : shown1 AS symbol1
FROM pools AS p FINAL
WHERE network = {network:String} AND ({pool:String} = '' OR pool = {pool:String})
GROUP BY pool
