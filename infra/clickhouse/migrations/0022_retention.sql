-- How long rows are kept, as the tables were last altered.
CREATE TABLE IF NOT EXISTS retention
(
    table_name String,
    rule       String,                            -- the TTL clause; empty: for ever
    days       UInt32,                            -- of ticks; 0: for ever
    version    UInt64                             -- milliseconds since 1970 of the change
)
ENGINE = ReplacingMergeTree(version)
ORDER BY table_name;
