-- Claims of job numbers: ClickHouse has no compare-and-set, so a number is claimed first, and used where no other claim is as high.
CREATE TABLE IF NOT EXISTS job_claims
(
    network LowCardinality(String),
    id      UInt32,
    claim   UUID
)
ENGINE = ReplacingMergeTree
ORDER BY (network, id, claim);
