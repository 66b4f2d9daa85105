-- What is stored of some blocks, summed up so that no order matters: a row for each block, or for each log of a single one.
SELECT
    toFloat64(block)           AS number,
    toUInt32(count())          AS logs,
    toString(sum(digest))      AS digest,
    toString(sum(dollars))     AS dollars
FROM
(
    SELECT
        block, log_index,
        tick_digest + 11 * toUInt64(toUnixTimestamp(time))                          AS digest,
        (log_index + 1) * toUInt64(toInt256(amount_usd * 1000000))                   AS dollars
    FROM ticks FINAL
    WHERE network = {network:String} AND block BETWEEN {first:UInt64} AND {last:UInt64}
      AND (empty({pools:Array(String)}) OR pool IN {pools:Array(String)})
    UNION ALL
    SELECT
        block, log_index,
        reinterpretAsUInt64(unhex(substring(pool, 3, 16))) + log_index * 0x9e3779b97f4a7c15
          + 3 * toUInt64(tick_lower) + 5 * toUInt64(tick_upper) + 7 * toUInt64(liquidity_delta)
          + 11 * toUInt64(toUnixTimestamp(time))                                    AS digest,
        toUInt64(0)                                                                 AS dollars
    FROM liquidity_changes FINAL
    WHERE network = {network:String} AND block BETWEEN {first:UInt64} AND {last:UInt64}
      AND (empty({pools:Array(String)}) OR pool IN {pools:Array(String)})
)
GROUP BY number, if({each:UInt8}, log_index, 0)
-- Live questions and flushes keep the other cores.
SETTINGS max_threads = 1
