-- The liquidity that mints and burns have left in each pool: their number, the part that is in range since the last swap,
-- and how much of the two tokens all of it is at the price now. A range from which more was burnt than is known to have been
-- minted has liquidity of unknown size from before the first indexed block: it counts as empty.
-- The arrays run alongside `pools`: tick, square root of the raw price, and place of the last swap.
WITH
    indexOf({pools:Array(String)}, pool)                     AS n,
    {pool_ticks:Array(Int32)}[n]                             AS pool_tick,
    tick_lower <= pool_tick AND pool_tick < tick_upper       AS in_range,
    pow(1.0001, tick_lower / 2)                              AS root_lower,
    pow(1.0001, tick_upper / 2)                              AS root_upper,
    least(greatest({roots:Array(Float64)}[n], root_lower), root_upper) AS root
SELECT
    pool,
    toString(sum(changes))                                   AS changes,
    toString(sumIf(net_since, in_range))                     AS liquidity_since,
    toString(sumIf(held, in_range))                          AS liquidity,
    sum(toFloat64(held) * (1 / root - 1 / root_upper))       AS amount0,
    sum(toFloat64(held) * (root - root_lower))               AS amount1
FROM
(
    SELECT
        pool,
        tick_lower,
        tick_upper,
        count()                           AS changes,
        greatest(sum(liquidity_delta), 0) AS held,
        sumIf(
            liquidity_delta,
            (block, log_index) > (
                {blocks:Array(UInt64)}[indexOf({pools:Array(String)}, pool)],
                {log_indexes:Array(UInt32)}[indexOf({pools:Array(String)}, pool)])) AS net_since
    FROM liquidity_changes FINAL
    WHERE network = {network:String}
      AND pool IN {pools:Array(String)}
    GROUP BY pool, tick_lower, tick_upper
)
GROUP BY pool
