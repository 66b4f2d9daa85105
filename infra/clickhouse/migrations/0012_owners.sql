-- One row for each time that an aggregator took charge of a network.
CREATE TABLE IF NOT EXISTS owners
(
    network LowCardinality(String),
    epoch   UInt64,
    since   DateTime('UTC') DEFAULT now()
)
ENGINE = ReplacingMergeTree
ORDER BY (network, epoch);
