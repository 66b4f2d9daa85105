-- The newest claim of each other process on each key's minute, among the claims written lately.
SELECT
    lower(hex(key_hash))                  AS hash,
    toUnixTimestamp(credit_claims.minute) AS minute,
    toString(credit_claims.instance)      AS instance,
    toFloat64(credit_claims.version)      AS version,
    toFloat64(credit_claims.claimed)      AS claimed,
    toFloat64(credit_claims.needed)       AS needed,
    toFloat64(credit_claims.credits)      AS credits,
    toFloat64(credit_claims.calls)        AS calls
FROM credit_claims
WHERE written >= now64(3) - toIntervalMillisecond({ago_ms:UInt64})
  AND credit_claims.instance != {instance:UUID}
ORDER BY version DESC
LIMIT 1 BY hash, minute, instance
