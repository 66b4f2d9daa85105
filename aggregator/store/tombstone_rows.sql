-- Tombstones for the live rows that some pools have in some blocks, with their whole key.
INSERT INTO {table:Identifier}
SELECT * REPLACE ({tombstone:UInt64} AS version, 1 AS is_deleted)
FROM {table:Identifier} AS stored FINAL
WHERE network = {network:String} AND pool IN {pools:Array(String)} AND block BETWEEN {first:UInt64} AND {last:UInt64}
  AND time BETWEEN toDateTime({since:UInt32}, 'UTC') AND toDateTime({until:UInt32}, 'UTC')
  AND stored.version < {below:UInt64}
