-- Pools of a network with a row of a version after one, up to another.
SELECT
    pool,
    toString(version) AS version
FROM pools
WHERE network = {network:String}
  AND pools.version > {after:UInt64}
  AND pools.version <= {newest:UInt64}
LIMIT {rows:UInt32}
