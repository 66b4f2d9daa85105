-- Buries the ticks of some final blocks that a job did not find there.
INSERT INTO ticks
SELECT * REPLACE ({tombstone:UInt64} AS version, 1 AS is_deleted)
FROM ticks FINAL
WHERE network = {network:String} AND block BETWEEN {first:UInt64} AND {last:UInt64}
  AND (empty({pools:Array(String)}) OR pool IN {pools:Array(String)})
  AND ticks.version < {row:UInt64}
