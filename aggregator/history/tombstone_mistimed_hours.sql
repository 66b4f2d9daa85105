-- Tombstones for balances of v3 pools after some blocks, where they are stored under another hour than the block's.
INSERT INTO pool_balance_hours
SELECT * REPLACE ({tombstone:UInt64} AS version, 1 AS is_deleted)
FROM pool_balance_hours FINAL
WHERE network = {network:String} AND block IN {numbers:Array(UInt64)} AND pool_balance_hours.version < {row:UInt64}
  AND hour != toStartOfHour(toDateTime({times:Array(UInt32)}[indexOf({numbers:Array(UInt64)}, block)], 'UTC'))
