-- The keys with these hashes.
SELECT
    lower(hex(key_hash))           AS hash,
    id,
    name,
    plan,
    toUnixTimestamp(billing_start) AS billing_start,
    toUnixTimestamp(created)       AS created,
    toUnixTimestamp(revoked)       AS revoked
FROM api_keys FINAL
WHERE key_hash IN (SELECT toFixedString(unhex(arrayJoin({hashes:Array(String)})), 32))
