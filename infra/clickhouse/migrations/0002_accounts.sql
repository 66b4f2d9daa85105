-- Who may ask, and what they have used.

CREATE TABLE IF NOT EXISTS api_keys
(
    key_hash      FixedString(32),                -- SHA-256 of the key, which is stored nowhere
    id            String,                         -- public handle, shown in lists
    name          String,
    plan          LowCardinality(String),
    billing_start Nullable(DateTime('UTC')),
    created       DateTime('UTC'),
    revoked       Nullable(DateTime('UTC')),
    version       UInt64                          -- milliseconds since 1970 of the change
)
ENGINE = ReplacingMergeTree(version)
ORDER BY key_hash;

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
