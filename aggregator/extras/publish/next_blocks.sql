-- Rows of the ledger after a block, lowest first.
SELECT
    toFloat64(stored.number)        AS number,
    lower(hex(stored.hash))         AS hash,
    toUnixTimestamp(stored.time)    AS timestamp,
    stored.ticks                    AS ticks
FROM blocks AS stored FINAL
WHERE network = {network:String} AND stored.number > {after:Int64} AND stored.number <= {until:UInt64}
ORDER BY stored.number
LIMIT {limit:UInt32}
