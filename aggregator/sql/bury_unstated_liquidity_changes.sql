-- Buries the liquidity_changes of some final blocks that a job did not find there.
INSERT INTO liquidity_changes
SELECT * REPLACE ({tombstone:UInt64} AS version, 1 AS is_deleted)
FROM liquidity_changes FINAL
WHERE network = {network:String} AND block BETWEEN {first:UInt64} AND {last:UInt64}
  AND (empty({pools:Array(String)}) OR pool IN {pools:Array(String)})
  AND liquidity_changes.version < {row:UInt64}
