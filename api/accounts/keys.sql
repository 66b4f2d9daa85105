-- The keys with these hashes, or every key; newest first.
SELECT
    lower(hex(key_hash))           AS hash,
    id,
    name,
    plan,
    toUnixTimestamp(billing_start) AS billing_start,
    toUnixTimestamp(created)       AS created,
    toUnixTimestamp(revoked)       AS revoked
FROM api_keys FINAL
WHERE {all:Bool} OR key_hash IN (SELECT toFixedString(unhex(arrayJoin({hashes:Array(String)})), 32))
ORDER BY api_keys.created DESC, id
