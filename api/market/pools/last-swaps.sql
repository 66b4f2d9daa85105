-- The last swap of each pool; all of them were within one day.
SELECT
    pool,
    toString(block)       AS block,
    log_index,
    toString(sqrt_price)  AS sqrt_price,
    toString(liquidity)   AS liquidity,
    pool_tick,
    fee
FROM ticks FINAL
WHERE network = {network:String}
  AND pool IN {pools:Array(String)}
  AND time >= toDateTime({from:UInt32}, 'UTC')
  AND time < toDateTime({to:UInt32}, 'UTC')
ORDER BY ticks.time DESC, ticks.block DESC, ticks.log_index DESC
LIMIT 1 BY pool
