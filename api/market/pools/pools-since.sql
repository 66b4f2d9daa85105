-- Rows of pools that were written since a moment, once for each of the two tokens.
SELECT
    network,
    pool,
    token,
    other_token,
    lowerUTF8(p.symbol)                                AS symbol,
    toFloat64(toUnixTimestamp64Milli(p.written))       AS written
FROM pools_by_token AS p
WHERE p.written >= fromUnixTimestamp64Milli({since:Int64})
LIMIT {limit:UInt32}
