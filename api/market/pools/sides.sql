-- How often takers received the first token of each pool, and how often the second. The arrays run alongside each other.
SELECT
    network,
    pool,
    toFloat64(countIf(is_buy))     AS buys,
    toFloat64(countIf(NOT is_buy)) AS sells
FROM
(
    SELECT
        network,
        pool,
        amount0 > 0 OR amount0 = 0 AND amount1 <= 0 AS is_buy
    FROM ticks FINAL
    WHERE (network, pool) IN arrayZip({networks:Array(String)}, {pools:Array(String)})
      AND time >= toDateTime({from:UInt32}, 'UTC')
      AND time < toDateTime({to:UInt32}, 'UTC')
)
GROUP BY network, pool
