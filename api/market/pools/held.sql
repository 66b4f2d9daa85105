-- The worth of minted liquidity over the day before an end, for each pool, at its price then: every mint and burn counts by the
-- share of the day that was left, so that liquidity of one block counts nothing. Only positions that hold the price count.
-- `late` is the rest of the liquidity that moved in that day or after it, of all positions: the pool did not hold it all day.
-- The arrays run alongside `pools`: the end of its day, and the square root of its raw price then.
WITH
    {roots:Array(Float64)}[indexOf({pools:Array(String)}, pool)]       AS price_root,
    pow(1.0001, tick_lower / 2)                                        AS root_lower,
    pow(1.0001, tick_upper / 2)                                        AS root_upper,
    root_lower <= price_root AND price_root < root_upper               AS in_range,
    least(greatest(price_root, root_lower), root_upper)                AS root
SELECT
    pool,
    sum(in_range * kept * (1 / root - 1 / root_upper))                 AS held0,
    sum(in_range * kept * (root - root_lower))                         AS held1,
    sum(late * (1 / root - 1 / root_upper))                            AS late0,
    sum(late * (root - root_lower))                                    AS late1
FROM
(
    SELECT
        pool,
        tick_lower,
        tick_upper,
        greatest(sum(toFloat64(liquidity_delta) * share), 0)           AS kept,
        sum(toFloat64(liquidity_delta) * (1 - share))                  AS late
    FROM
    (
        SELECT
            *,
            transform(pool, {pools:Array(String)}, {ends:Array(Int64)}, toInt64(0)) AS end,
            least(greatest((end - toInt64(toUnixTimestamp(time))) / 86400, 0), 1) AS share
        FROM liquidity_changes FINAL
        WHERE network = {network:String}
          AND pool IN {pools:Array(String)}
    )
    GROUP BY pool, tick_lower, tick_upper
)
GROUP BY pool
