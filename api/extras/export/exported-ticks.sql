-- The swaps of a range as the API answers them, with their network and pool, in the order of the table: nothing is sorted in memory.
-- Amounts are exact text. Numbers are the doubles nearest to it.
WITH
    {forward:UInt8} = 1                                                                      AS is_forward,
    is_forward ? (t.amount0, p.decimals0) : (t.amount1, p.decimals1)                         AS base,
    is_forward ? (t.amount1, p.decimals1) : (t.amount0, p.decimals0)                         AS quote,
    {price:String} = 'spot' ? t.spot_price : t.price                                         AS pool_price,
    (text, decimals) -> leftPad(text, greatest(length(text), decimals + 1), '0')             AS padded,
    -- Most fit into 64 bits, whose text takes a third of the time.
    raw -> abs(raw) <= 18446744073709551615 ? toString(toUInt64(abs(raw))) : toString(abs(raw)) AS magnitude,
    (raw, decimals) -> padded(magnitude(raw), decimals)                                      AS digits,
    (raw, decimals) -> trim(TRAILING '0' FROM right(digits(raw, decimals), decimals))        AS places,
    (raw, decimals) -> concat(
        raw < 0 ? '-' : '', left(digits(raw, decimals), length(digits(raw, decimals)) - decimals),
        places(raw, decimals) = '' ? '' : '.', places(raw, decimals))                        AS decimal_text
SELECT
    t.network                                                                                AS network,
    t.pool                                                                                   AS pool,
    concat('0x', lower(hex(t.transaction_hash)), '-', toString(t.log_index))                 AS id,
    toDateTime64(t.time, 0, 'UTC')                                                           AS timestamp,
    is_forward ? pool_price : 1 / pool_price                                                 AS price,
    (base.1 != 0 ? base.1 > 0 : quote.1 <= 0) ? 'buy' : 'sell'                               AS side,
    decimal_text(base.1, base.2)                                                             AS amount0,
    decimal_text(quote.1, quote.2)                                                           AS amount1,
    -- The quotient of two integers that a double holds is the double nearest to it; beyond 2^53 millionths the text says it.
    t.amount_usd < 9007199254 ? toFloat64(t.amount_usd) : toFloat64(toString(t.amount_usd))  AS amountUSD,
    is_forward ? p.symbol0 : p.symbol1                                                       AS token0,
    is_forward ? p.symbol1 : p.symbol0                                                       AS token1,
    t.block                                                                                  AS block,
    t.log_index                                                                              AS logIndex,
    nullIf(concat('0x', lower(hex(t.sender))), concat('0x', repeat('0', 40)))::Nullable(String) AS sender
FROM exported_rows AS t
ANY LEFT JOIN exported_pools AS p ON p.pool = t.pool
