-- The use of keys in their months by other processes: a row for each process and recent minute, which may still grow, and one sum of all older minutes.
SELECT
    lower(hex(key_hash))                                                                     AS hash,
    if(minute < toDateTime({recent:UInt32}, 'UTC'), 0, toUnixTimestamp(minute))              AS at,
    if(minute < toDateTime({recent:UInt32}, 'UTC'), '', toString(instance))                  AS by,
    sum(usage.credits)                                                                             AS credits,
    sum(usage.calls)                                                                               AS calls
FROM usage FINAL
WHERE key_hash IN (SELECT toFixedString(unhex(arrayJoin({hashes:Array(String)})), 32))
  AND minute >= toDateTime(arrayMin({starts:Array(UInt32)}), 'UTC')
  AND toUnixTimestamp(minute) >= transform(lower(hex(key_hash)), {hashes:Array(String)}, {starts:Array(UInt32)}, toUInt32(0))
  AND instance != {instance:UUID}
GROUP BY hash, at, by
