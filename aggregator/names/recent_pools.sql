-- Some pools that were written lately, at random.
SELECT pool
FROM changes
WHERE network = {network:String} AND written >= now() - INTERVAL {seconds:UInt32} SECOND
GROUP BY pool
ORDER BY rand()
LIMIT {pools:UInt32}
