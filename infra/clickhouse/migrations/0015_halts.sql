-- Stages that wait for an operator. Processes of the API, which have no such stage themselves, read it here.
CREATE TABLE IF NOT EXISTS halts
(
    network   LowCardinality(String),
    stage     LowCardinality(String),             -- listener or aggregator
    is_halted UInt8,                              -- 0: it works again
    reason    String,                             -- for operators; without secrets
    since     DateTime('UTC'),
    version   UInt64                              -- grows by one with each write
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (network, stage);
