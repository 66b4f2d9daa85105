-- The next pools after an id.
SELECT DISTINCT pool
FROM pools
WHERE network = {network:String} AND pool > {after:String}
ORDER BY network, pool
LIMIT {pools:UInt32}
