-- The last swap of each pool, all of which were on the same day.
SELECT
    pool,
    toString(block)       AS block,
    log_index,
    toString(sqrt_price)  AS sqrt_price,
    toString(liquidity)   AS liquidity,
    pool_tick,
    fee,
    spot_price
FROM ticks FINAL
WHERE network = {network:String}
  AND pool IN {pools:Array(String)}
  AND time >= toDateTime({day:UInt32}, 'UTC')
  AND time < toDateTime({day:UInt32} + 86400, 'UTC')
ORDER BY ticks.time DESC, ticks.block DESC, ticks.log_index DESC
LIMIT 1 BY pool
