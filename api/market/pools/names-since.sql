-- Tokens that were named since a moment, with the symbols that they have now and had before, in lower case.
SELECT
    network,
    token,
    arrayMap(it -> lowerUTF8(it), arrayPushFront(t.former, t.symbol)) AS symbols,
    toFloat64(toUnixTimestamp64Milli(t.written))       AS written
FROM token_names AS t
WHERE t.written >= fromUnixTimestamp64Milli({since:Int64})
LIMIT {limit:UInt32}
