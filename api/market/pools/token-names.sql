-- Tokens of a network that were renamed, or those of them that are named, as written since a moment.
SELECT
    token,
    argMax(t.symbol, t.block)  AS symbol,
    argMax(t.name, t.block)    AS name,
    argMax(t.former, t.block)  AS former,
    toFloat64(max(t.block))    AS block
FROM token_names AS t
WHERE network = {network:String}
  AND (empty({tokens:Array(String)}) OR token IN {tokens:Array(String)})
  AND t.written >= fromUnixTimestamp64Milli({since:Int64})
GROUP BY token
ORDER BY block, token
