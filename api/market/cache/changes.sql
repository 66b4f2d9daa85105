-- What was written of a network since a point in its sequence of writes.
SELECT
    toString(sequence)     AS number,
    pool,
    toUnixTimestamp(first) AS first,
    toUnixTimestamp(last)  AS last,
    toString(block)        AS block,
    toString(version)      AS version
FROM changes
WHERE network = {network:String} AND sequence > {after:UInt128}
ORDER BY sequence
