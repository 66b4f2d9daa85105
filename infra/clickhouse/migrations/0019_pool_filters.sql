-- The pools of a filter that is too long to be a name: `coverage` names it by a digest of its ids.
CREATE TABLE IF NOT EXISTS pool_filters
(
    network LowCardinality(String),
    filter  String,                               -- as in `coverage`: sha256: and the digest, in hex
    pools   Array(String)
)
ENGINE = ReplacingMergeTree
ORDER BY (network, filter);
