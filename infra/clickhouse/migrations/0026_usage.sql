-- Absolute counts of one API process for one key and minute: written again as they grow, so that a retry counts once.
CREATE TABLE IF NOT EXISTS usage
(
    key_hash FixedString(32),
    minute   DateTime('UTC'),
    instance UUID,
    credits  UInt64,
    calls    UInt64,
    version  UInt64                               -- grows with each write of the instance
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (key_hash, minute, instance);
