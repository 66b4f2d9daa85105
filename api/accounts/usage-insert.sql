-- Absolute counts: written again as they grow.
INSERT INTO usage (key_hash, minute, instance, credits, calls, version)
SELECT unhex(hash), toDateTime(minute, 'UTC'), instance, credits, calls, version
FROM input('hash String, minute UInt32, instance UUID, credits UInt64, calls UInt64, version UInt64')
FORMAT JSONEachRow
