-- The newest swaps of a pool that end before `to`, newest first.
SELECT
    toUnixTimestamp(t.time)              AS time,
    toFloat64(t.block)                   AS block,
    lower(hex(t.transaction_hash))       AS transaction_hash,
    t.log_index                          AS log_index,
    lower(hex(t.sender))                 AS sender,
    toString(t.amount0)                  AS amount0,
    toString(t.amount1)                  AS amount1,
    toString(t.sqrt_price)               AS sqrt_price,
    t.scale                              AS scale,
    toString(t.{ulps:Identifier})        AS ulps,
    toString(t.amount_usd)               AS amount_usd,
    toString(t.hooked0)                  AS hook_amount0,
    toString(t.hooked1)                  AS hook_amount1
FROM ticks AS t FINAL
WHERE network = {network:String}
  AND pool = {pool:String}
  AND t.time >= toDateTime({from:UInt32}, 'UTC')
  AND t.time < toDateTime({to:UInt32}, 'UTC')
  AND ({least_units:UInt64} = 0
    OR (t.amount_usd >= {least_usd:Decimal(18, 6)} AND abs(t.amount0) >= {least_units:UInt64} AND abs(t.amount1) >= {least_units:UInt64}))
ORDER BY t.time DESC, t.block DESC, t.log_index DESC
LIMIT {limit:UInt32}
