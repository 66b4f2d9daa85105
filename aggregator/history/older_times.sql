-- Times under which some blocks were stored before a job overwrote them. Without FINAL: a repetition must see rows that have tombstones already.
SELECT DISTINCT toFloat64(block) AS number, toUnixTimestamp(time) AS timestamp
FROM
(
    SELECT block, time
    FROM ticks
    WHERE network = {network:String} AND block BETWEEN {first:UInt64} AND {last:UInt64} AND version < {row:UInt64}
      AND (empty({pools:Array(String)}) OR pool IN {pools:Array(String)})
    UNION ALL
    SELECT block, time
    FROM liquidity_changes
    WHERE network = {network:String} AND block BETWEEN {first:UInt64} AND {last:UInt64} AND version < {row:UInt64}
      AND (empty({pools:Array(String)}) OR pool IN {pools:Array(String)})
)
