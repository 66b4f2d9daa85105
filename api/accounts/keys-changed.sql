-- Keys that were changed lately. Without FINAL: any row of a key shows a change, and the index by_change finds it.
SELECT DISTINCT lower(hex(key_hash)) AS hash
FROM api_keys
WHERE bitAnd(version, 0x7fffffffffffffff) >= toUInt64(toUnixTimestamp64Milli(now64(3))) - {ago_ms:UInt64}
