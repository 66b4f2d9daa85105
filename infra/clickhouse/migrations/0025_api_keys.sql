-- Keys of clients.
CREATE TABLE IF NOT EXISTS api_keys
(
    key_hash      FixedString(32),                -- SHA-256 of the key, which is stored nowhere
    id            String,                         -- public handle, shown in lists
    name          String,
    plan          LowCardinality(String),
    billing_start Nullable(DateTime('UTC')),
    created       DateTime('UTC'),
    revoked       Nullable(DateTime('UTC')),
    version       UInt64,                         -- milliseconds since 1970 of the change; the top bit marks a revocation
    -- The keys that were changed lately are found without a read of all others.
    INDEX by_change bitAnd(version, 0x7fffffffffffffff) TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY key_hash;
