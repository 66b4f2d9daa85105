-- The pools of a network that were written last, among its newest changes.
SELECT DISTINCT pool
FROM (SELECT pool FROM changes WHERE network = {network:String} ORDER BY sequence DESC LIMIT 20000)
LIMIT {limit:UInt32}
SETTINGS max_threads = 1
