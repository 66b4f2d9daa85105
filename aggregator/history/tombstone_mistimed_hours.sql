-- Buries what v3 pools held after some blocks, where it is stored under another hour than that of the block.
INSERT INTO pool_balance_hours
SELECT * REPLACE ({tombstone:UInt64} AS version, 1 AS is_deleted)
FROM pool_balance_hours FINAL
WHERE network = {network:String} AND block IN {numbers:Array(UInt64)} AND pool_balance_hours.version < {row:UInt64}
  AND hour != toStartOfHour(toDateTime({times:Array(UInt32)}[indexOf({numbers:Array(UInt64)}, block)], 'UTC'))
