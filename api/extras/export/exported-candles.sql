-- The candles of a range as the API answers them, with their network, pool and pair. 1/x falls where x rises: inverted prices swap high and low.
WITH
    {forward:UInt8} = 1                                                                      AS is_forward,
    is_forward ? (c.volume1, p.decimals1) : (c.volume0, p.decimals0)                         AS quote,
    is_forward ? (c.volume0, p.decimals0) : (c.volume1, p.decimals1)                         AS base,
    is_forward ? c.buy_volume1 : toUInt256(c.volume0 - c.buy_volume0)                        AS bought,
    (raw, decimals) -> leftPad(toString(raw), greatest(length(toString(raw)), decimals + 1), '0') AS digits,
    (raw, decimals) -> toFloat64(concat(
        left(digits(raw, decimals), length(digits(raw, decimals)) - decimals), '.', right(digits(raw, decimals), decimals))) AS decimal_number,
    toUnixTimestamp(c.bucket)                                                                AS start
SELECT
    c.network                                                                                AS network,
    c.pool                                                                                   AS pool,
    is_forward ? concat(p.symbol0, '-', p.symbol1) : concat(p.symbol1, '-', p.symbol0)       AS pair,
    toDateTime64(c.bucket, 0, 'UTC')                                                         AS time,
    is_forward ? c.first_price : 1 / c.first_price                                           AS open,
    is_forward ? c.high_price : 1 / c.low_price                                              AS high,
    is_forward ? c.low_price : 1 / c.high_price                                              AS low,
    is_forward ? c.last_price : 1 / c.last_price                                             AS close,
    decimal_number(quote.1, quote.2)                                                         AS volume,
    c.trades                                                                                 AS trades,
    -- What buys token0 sells token1; a swap of 0 for 0 is a buy of either.
    is_forward ? c.buys : toUInt64(c.trades - c.buys + c.idle)                               AS buys,
    is_forward ? toUInt64(c.trades - c.buys) : toUInt64(c.buys - c.idle)                     AS sells,
    decimal_number(base.1, base.2)                                                           AS volumeBase,
    toFloat64(toString(c.volume_usd))                                                        AS volumeUsd,
    decimal_number(bought, quote.2)                                                          AS buyVolume
FROM exported_rows AS c
ANY LEFT JOIN exported_pools AS p ON p.pool = c.pool
-- Without the buckets that are being stored beyond the tip and beyond the ranges of backfills.
WHERE start <= {tip:Int64}
   OR arrayExists((first, last) -> start <= last AND first < start + {interval:UInt32}, {firsts:Array(UInt32)}, {lasts:Array(UInt32)})
