-- Whether a row was ever stored of some blocks, at any time, or of later ones up to a second. Without FINAL: rows with a tombstone
-- count too. Two queries, since only the second leaves out parts by their time: asked as one, both would read all later blocks.
SELECT 1
FROM
(
    SELECT 1
    FROM ticks
    WHERE network = {network:String} AND block BETWEEN {first:UInt64} AND {last:UInt64}
      AND (empty({pools:Array(String)}) OR pool IN {pools:Array(String)})
    LIMIT 1
    UNION ALL
    SELECT 1
    FROM ticks
    WHERE network = {network:String} AND block > {last:UInt64} AND time < toDateTime({until:UInt32}, 'UTC')
      AND (empty({pools:Array(String)}) OR pool IN {pools:Array(String)})
    LIMIT 1
)
LIMIT 1
