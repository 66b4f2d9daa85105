-- The ledger: which blocks are on the chain. It grows last in a flush and shrinks first in a rollback. A range of final history leaves its blocks with
-- content and its last one.
--
-- Versions of blocks, ticks, pools, liquidity_changes and pool_balance_hours (UInt64, see aggregator/store/version.ts):
--   bit 63       the row states final history (backfill, audit, repair): beats every live row
--   bits 48..62  generation of the log
--   bits 0..47   2 · offset for a tombstone, 2 · offset + 1 for a row, of the message that made it
-- No statistics: each question reads by a key, and counting the values of columns takes a tenth of a merge.
-- Parts of less than 5 MB count as if they had 5 MB, so a low `merge_selector_base` has every few blocks of a live chain rewrite the newest parts; and
-- all small parts beside a larger one are merged into it, or each block rewrites the larger one.
CREATE TABLE IF NOT EXISTS blocks
(
    network     LowCardinality(String),
    number      UInt64,
    hash        FixedString(32),
    parent_hash FixedString(32),                  -- zeros inside a range, where it was not read
    time        DateTime('UTC'),
    first       UInt64,                           -- first block that the message covered: `number`, or the start of a range
    ticks       UInt32,
    digest      UInt64,                           -- order-free sum over the block's ticks
    version     UInt64,
    is_deleted  UInt8,
    finalized   UInt64                            -- the newest block that was final when this one was read; 0: not known
)
ENGINE = ReplacingMergeTree(version, is_deleted)
ORDER BY (network, number)
SETTINGS merge_selector_enable_heuristic_to_remove_small_parts_at_right = 0, auto_statistics_types = '', merge_selector_base = 10;
