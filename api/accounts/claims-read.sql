-- What the other processes told lately: the newest of each key's minute.
SELECT
    lower(hex(key_hash))    AS hash,
    toUnixTimestamp(minute) AS at,
    toString(instance)      AS by,
    version,
    claimed,
    needed,
    credits,
    calls
FROM credit_claims
WHERE written >= now64(3) - toIntervalMillisecond({ago_ms:UInt64})
  AND instance != {instance:UUID}
ORDER BY version DESC
LIMIT 1 BY key_hash, minute, instance
