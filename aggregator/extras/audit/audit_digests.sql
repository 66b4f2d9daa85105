-- Order-free sums over the stored logs of some blocks: a row for each block, or for each log of a single block. audit-sums.ts computes the same sums.
SELECT
    toFloat64(block)           AS number,
    toUInt32(count())          AS logs,
    toString(sum(digest))      AS digest,
    toString(sum(senders))     AS senders,
    toUInt32(sum(unsent))      AS unsent,
    toString(sum(dollars))     AS dollars
FROM
(
    SELECT
        block, log_index,
        reinterpretAsUInt64(substring(SHA256(concat({secret:String}, ' tick ', toString(log_index), ' ', pool, ' ',
          lower(hex(transaction_hash)), ' ', toString(toUnixTimestamp(time)), ' ', toString(amount0), ' ', toString(amount1), ' ',
          toString(sqrt_price), ' ', toString(liquidity), ' ', toString(pool_tick),
          ifNull(concat(' ', toString(hooked0), ' ', toString(hooked1)), ''))), 1, 8)) AS digest,
        if(unsent, 0, reinterpretAsUInt64(substring(SHA256(concat({secret:String}, ' sender ', toString(log_index), ' ',
          lower(hex(sender)))), 1, 8)))                                              AS senders,
        toUInt8(toString(sender) = toString(toFixedString('', 20)))                  AS unsent,
        (log_index + 1) * toUInt64(toInt256(amount_usd * 1000000))                   AS dollars
    FROM ticks FINAL
    WHERE network = {network:String} AND block BETWEEN {first:UInt64} AND {last:UInt64}
      AND (empty({pools:Array(String)}) OR pool IN {pools:Array(String)})
    UNION ALL
    SELECT
        block, log_index,
        reinterpretAsUInt64(substring(SHA256(concat({secret:String}, ' change ', toString(log_index), ' ', pool, ' ',
          toString(toUnixTimestamp(time)), ' ', toString(tick_lower), ' ', toString(tick_upper), ' ',
          toString(liquidity_delta))), 1, 8))                                        AS digest,
        toUInt64(0)                                                                 AS senders,
        toUInt8(0)                                                                  AS unsent,
        toUInt64(0)                                                                 AS dollars
    FROM liquidity_changes FINAL
    WHERE network = {network:String} AND block BETWEEN {first:UInt64} AND {last:UInt64}
      AND (empty({pools:Array(String)}) OR pool IN {pools:Array(String)})
)
GROUP BY number, if({each:UInt8}, log_index, 0)
-- Live questions and flushes keep the other cores.
SETTINGS max_threads = 1
