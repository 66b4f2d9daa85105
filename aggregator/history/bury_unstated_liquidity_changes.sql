-- Buries the liquidity_changes that some pools have in some final blocks, where a job did not find them.
INSERT INTO liquidity_changes
SELECT * REPLACE ({tombstone:UInt64} AS version, 1 AS is_deleted)
FROM liquidity_changes FINAL
WHERE network = {network:String} AND pool IN {pools:Array(String)} AND block BETWEEN {first:UInt64} AND {last:UInt64}
  AND liquidity_changes.version < {row:UInt64}
