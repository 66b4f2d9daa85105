-- Requests to the endpoints of a network on each UTC day, where it has a budget: a row for about a thousandth of the day's budget.
CREATE TABLE IF NOT EXISTS request_counts
(
    network  LowCardinality(String),
    day      Date,
    requests UInt64
)
ENGINE = SummingMergeTree
ORDER BY (network, day)
TTL day + INTERVAL 90 DAY;
