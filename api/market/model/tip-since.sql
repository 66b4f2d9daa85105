-- The newest block of the ledger of each of five networks that has the block in the same place of `known` or a later one.
SELECT
    network,
    toString(number)      AS number,
    lower(hex(hash))      AS hash,
    toUnixTimestamp(time) AS time,
    toFloat64(finalized)  AS finalized
FROM blocks FINAL
WHERE (network = {networks:Array(String)}[1] AND blocks.number >= {known:Array(UInt64)}[1])
   OR (network = {networks:Array(String)}[2] AND blocks.number >= {known:Array(UInt64)}[2])
   OR (network = {networks:Array(String)}[3] AND blocks.number >= {known:Array(UInt64)}[3])
   OR (network = {networks:Array(String)}[4] AND blocks.number >= {known:Array(UInt64)}[4])
   OR (network = {networks:Array(String)}[5] AND blocks.number >= {known:Array(UInt64)}[5])
ORDER BY network, blocks.number DESC
LIMIT 1 BY network
