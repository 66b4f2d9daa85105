-- Rows of some blocks, in the order of the chain: live ones with the setting `final`, else all. An empty list of pools means all.
SELECT
    pool,
    toFloat64(stored.block)                           AS number,
    toUnixTimestamp(stored.time)                      AS timestamp,
    stored.log_index                                  AS logIndex,
    lower(hex(stored.transaction_hash))               AS transactionHash,
    lower(hex(stored.sender))                         AS sender,
    toString(stored.amount0)                          AS amount0,
    toString(stored.amount1)                          AS amount1,
    toString(stored.sqrt_price)                       AS sqrtPriceX96,
    toString(stored.liquidity)                        AS liquidity,
    stored.pool_tick                                  AS poolTick,
    stored.fee                                        AS fee,
    stored.scale                                      AS scale,
    toString(stored.spot_price_ulps)                  AS spotPriceUlps,
    toString(stored.price_ulps)                       AS priceUlps,
    toString(toInt256(stored.amount_usd * 1000000))   AS amountUsdMicros,
    toString(stored.version)                          AS version
FROM ticks AS stored
WHERE network = {network:String}
  AND (empty({pools:Array(String)}) OR pool IN {pools:Array(String)})
  AND stored.block BETWEEN {first:UInt64} AND {last:UInt64}
  AND stored.time BETWEEN toDateTime({since:UInt32}, 'UTC') AND toDateTime({until:UInt32}, 'UTC')
  AND stored.version >= {atLeast:UInt64} AND stored.version < {below:UInt64}
ORDER BY stored.block, stored.log_index
