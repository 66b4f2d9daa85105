-- Pools and seconds that a write touched: API processes evict them from their caches. Only processes that run when it is written read it.
-- No statistics: each question reads by a key, and counting the values of columns takes a tenth of a merge.
-- Parts of less than 5 MB count as if they had 5 MB, so a low `merge_selector_base` has every few blocks of a live chain rewrite the newest parts; and
-- all small parts beside a larger one are merged into it, or each block rewrites the larger one.
CREATE TABLE IF NOT EXISTS changes
(
    network  LowCardinality(String),
    sequence UInt128,                             -- the version of the candles that were written: grows with each write
    pool     String,
    first    DateTime('UTC'),                     -- the first and the last second that changed
    last     DateTime('UTC'),
    written  DateTime('UTC') DEFAULT now(),
    block    UInt64,                              -- the ledger's tip from which on the candles of a change are stored; 0: they were before it
    version  UInt128                              -- the candles of a change have this version or a higher one; 0: not known
)
ENGINE = MergeTree
ORDER BY (network, sequence)
TTL written + INTERVAL 1 HOUR
SETTINGS merge_with_ttl_timeout = 600, merge_selector_enable_heuristic_to_remove_small_parts_at_right = 0, auto_statistics_types = '',
    merge_selector_base = 20;
