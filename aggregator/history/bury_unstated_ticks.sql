-- Buries the ticks that some pools have in some final blocks, where a job did not find them.
INSERT INTO ticks
SELECT * REPLACE ({tombstone:UInt64} AS version, 1 AS is_deleted)
FROM ticks FINAL
WHERE network = {network:String} AND pool IN {pools:Array(String)} AND block BETWEEN {first:UInt64} AND {last:UInt64}
  AND time BETWEEN toDateTime({since:UInt32}, 'UTC') AND toDateTime({until:UInt32}, 'UTC')
  AND ticks.version < {row:UInt64}
