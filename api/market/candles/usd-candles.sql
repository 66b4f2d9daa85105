-- The newest candles in dollars, folded from the swaps that have a dollar price: see usd-price.ts. Newest first.
WITH
    toUInt256(t.amount_usd * 1000000)                                AS micros,
    -- `toFloat64` of more than 64 bits depends on the machine.
    toFloat64(toUInt64(bitShiftRight(micros, 64))) * 18446744073709551616 + toFloat64(toUInt64(micros)) AS dollars,
    dollars / ({forward:UInt8} = 1 ? t.size0 : t.size1)              AS ratio,
    (t.block, t.log_index)                                           AS place
SELECT
    toUInt32(intDiv(toUnixTimestamp(t.time), {interval:UInt32}) * {interval:UInt32}) AS bucket,
    [argMin(ratio, place), max(ratio), min(ratio), argMax(ratio, place)] AS ratios,
    toString(sum(toUInt256(abs(t.amount0))))                         AS volume0,
    toString(sum(toUInt256(abs(t.amount1))))                         AS volume1,
    toString(sum(micros))                                            AS usd_micros,
    toFloat64(count())                                               AS trades,
    toFloat64(countIf(t.amount0 > 0))                                AS buys,
    toString(sumIf(toUInt256(abs(t.amount0)), t.amount0 > 0))        AS buy_volume0,
    toString(sumIf(toUInt256(abs(t.amount1)), t.amount0 > 0))        AS buy_volume1
FROM ticks AS t FINAL
WHERE network = {network:String}
  AND pool = {pool:String}
  AND t.time >= toDateTime({from:UInt32}, 'UTC')
  AND t.time < toDateTime({to:UInt32}, 'UTC')
  AND t.amount_usd >= {least_usd:Decimal(18, 6)}
  AND abs(t.amount0) >= {least_units:UInt64}
  AND abs(t.amount1) >= {least_units:UInt64}
GROUP BY bucket
ORDER BY bucket DESC
LIMIT {limit:UInt32}
