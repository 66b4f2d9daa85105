-- The current names of renamed tokens, among some tokens.
SELECT
    token                              AS address,
    argMax(t.symbol, t.block)          AS symbol,
    argMax(t.name, t.block)            AS name,
    argMax(t.former, t.block)          AS former,
    toFloat64(max(t.block))            AS block,
    toFloat64(toUnixTimestamp64Milli(max(t.written))) AS writtenMs,
    toFloat64(toUnixTimestamp64Milli(now64(3)))       AS nowMs
FROM token_names AS t
WHERE network = {network:String} AND token IN {tokens:Array(String)}
GROUP BY token
