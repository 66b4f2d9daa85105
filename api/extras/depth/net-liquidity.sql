-- The liquidity of a pool by tick, as mints and burns up to a block have left it. A row for each tick in [from, to] where positions begin or end:
-- `net` is added there by a rising price, `gross` is what the positions have. The row without a tick is the liquidity at the pool's tick, and in
-- `gross` the part of it that changed after the last swap. Groups are the ticks in range: memory does not grow with the number of positions.
SELECT
    tick,
    toString(sum(added)) AS net,
    toString(sum(held))  AS gross
FROM
(
    SELECT
        arrayJoin(
        [
            (toNullable(tick_lower), liquidity_delta, liquidity_delta),
            (toNullable(tick_upper), -liquidity_delta, liquidity_delta),
            (NULL, liquidity_delta * in_range, liquidity_delta * (in_range AND is_since))
        ])                                                                            AS place,
        tick_lower <= {pool_tick:Int32} AND {pool_tick:Int32} < tick_upper            AS in_range,
        (block, log_index) > ({swap_block:UInt64}, {swap_log_index:UInt32})           AS is_since,
        place.1                                                                       AS tick,
        place.2                                                                       AS added,
        place.3                                                                       AS held
    FROM liquidity_changes FINAL
    WHERE network = {network:String}
      AND pool = {pool:String}
      AND block <= {block:UInt64}
)
WHERE tick IS NULL OR tick BETWEEN {from:Int32} AND {to:Int32}
GROUP BY tick
HAVING tick IS NULL OR sum(held) != 0
ORDER BY tick
SETTINGS max_threads = 1
