-- Tokens whose name is not the one that all of their pools were stored with: a contract may change it. One row a token; a pool's own row stays.
CREATE TABLE IF NOT EXISTS token_names
(
    network LowCardinality(String),
    token   String,                               -- lower-case hex
    symbol  String,
    name    String,
    former  Array(String),                        -- symbols that it had before, the newest first: at most four
    block   UInt64,                               -- final block at which this was read
    written DateTime64(3, 'UTC') DEFAULT now64(3),
    INDEX by_written written TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(block)
ORDER BY (network, token);
