-- The changes of a network since a point in its sequence of writes, for five networks.
SELECT
    network,
    toString(sequence)     AS number,
    pool,
    toUnixTimestamp(first) AS first,
    toUnixTimestamp(last)  AS last,
    toString(block)        AS block,
    toString(version)      AS version
FROM changes
WHERE (network = {networks:Array(String)}[1] AND sequence > {after:Array(UInt128)}[1])
   OR (network = {networks:Array(String)}[2] AND sequence > {after:Array(UInt128)}[2])
   OR (network = {networks:Array(String)}[3] AND sequence > {after:Array(UInt128)}[3])
   OR (network = {networks:Array(String)}[4] AND sequence > {after:Array(UInt128)}[4])
   OR (network = {networks:Array(String)}[5] AND sequence > {after:Array(UInt128)}[5])
ORDER BY network, sequence
