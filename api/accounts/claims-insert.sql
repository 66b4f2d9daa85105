-- The claims of this process, at one point in time.
INSERT INTO credit_claims (written, key_hash, minute, instance, version, claimed, needed, credits, calls)
SELECT now64(3), unhex(hash), toDateTime(minute, 'UTC'), instance, version, claimed, needed, credits, calls
FROM input('hash String, minute UInt32, instance UUID, version UInt64, claimed UInt64, needed UInt64, credits UInt64, calls UInt64')
FORMAT JSONEachRow
