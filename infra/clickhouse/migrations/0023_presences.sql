-- Running processes, with the networks whose jobs they take: a command opens no job here that no process would take.
CREATE TABLE IF NOT EXISTS presences
(
    network LowCardinality(String),
    role    LowCardinality(String),               -- aggregator: stores what is read; jobs: reads history
    process UUID,
    until   DateTime('UTC'),                      -- renewed while the process runs
    version UInt64,                               -- grows by one with each renewal
    problem String                                -- why it does not read or store the network as it should; empty: it does
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (network, role, process)
TTL until + INTERVAL 1 DAY;
