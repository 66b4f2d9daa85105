-- Pools of a network with a row of a version after one, up to another, and what that row adds to the sum of catalogue-halves.sql.
SELECT
    pool,
    toString(cityHash64(version, block)) AS hash
FROM pools
WHERE network = {network:String}
  AND pools.version > {after:UInt64}
  AND pools.version <= {newest:UInt64}
LIMIT {rows:UInt32}
