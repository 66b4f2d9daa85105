-- Recomputes the buckets of one resolution of some pools, from `from` up to and without `to`, from their live ticks. A tick of 0 for 0 has
-- no execution price: with only such ticks a bucket's execution prices are 0. A bucket of `candles` that lost all of its ticks gets trades = 0.
-- `into` is `candles`, or a temporary table.
INSERT INTO {into:Identifier}
(
    network, pool, resolution, time, open, close_ulps, high_ulps, low_ulps, spot_open_ulps, spot_close_ulps, spot_high_ulps, spot_low_ulps,
    volume0, volume1, volume_usd, trades, buys, mixed_buys0, mixed_buys1, unexecuted, version
)
WITH
    reinterpretAsInt64(first_price)                                           AS first_bits,
    reinterpretAsInt64(argMaxIf(price, place, is_executed))                   AS last_bits,
    reinterpretAsInt64(argMinIf(spot_price, place, is_tick))                  AS first_spot_bits,
    reinterpretAsInt64(argMaxIf(spot_price, place, is_tick))                  AS last_spot_bits
SELECT
    {network:String} AS network,
    pool,
    {resolution:UInt32} AS resolution,
    bucket AS time,
    argMinIf(price, place, is_executed)     AS first_price,
    last_bits - first_bits                                                    AS close_ulps,
    reinterpretAsInt64(maxIf(price, is_executed)) - greatest(first_bits, last_bits)    AS high_ulps,
    reinterpretAsInt64(minIf(price, is_executed)) - least(first_bits, last_bits)       AS low_ulps,
    first_spot_bits - first_bits                                              AS spot_open_ulps,
    last_spot_bits - first_spot_bits                                          AS spot_close_ulps,
    reinterpretAsInt64(maxIf(spot_price, is_tick)) - greatest(first_spot_bits, last_spot_bits) AS spot_high_ulps,
    reinterpretAsInt64(minIf(spot_price, is_tick)) - least(first_spot_bits, last_spot_bits)    AS spot_low_ulps,
    sum(units0)                             AS volume0,
    sum(units1)                             AS volume1,
    sum(amount_usd)                         AS volume_usd,
    countIf(is_tick)                        AS trades,
    countIf(is_buy)                         AS buys,
    buys = trades ? toUInt256(0) : sumIf(units0, is_buy) AS mixed_buys0,
    buys = trades ? toUInt256(0) : sumIf(units1, is_buy) AS mixed_buys1,
    countIf(is_tick AND NOT is_executed)    AS unexecuted,
    {version:UInt128}                       AS version
FROM
(
    SELECT
        pool, toDateTime(intDiv(toUnixTimestamp(time), {resolution:UInt32}) * {resolution:UInt32}, 'UTC') AS bucket,
        (block, log_index) AS place, price, spot_price,
        toUInt256(abs(amount0)) AS units0, toUInt256(abs(amount1)) AS units1, amount_usd,
        true AS is_tick, amount0 != 0 OR amount1 != 0 AS is_executed, amount0 > 0 OR (amount0 = 0 AND amount1 <= 0) AS is_buy
    FROM ticks FINAL
    WHERE network = {network:String} AND pool IN {pools:Array(String)}
      AND time >= toDateTime({from:UInt32}, 'UTC') AND time < toDateTime({to:UInt32}, 'UTC')
    UNION ALL
    SELECT
        pool, time AS bucket, (toUInt64(0), toUInt32(0)) AS place, 0 AS price, 0 AS spot_price,
        toUInt256(0) AS units0, toUInt256(0) AS units1, toDecimal256(0, 6) AS amount_usd,
        false AS is_tick, false AS is_executed, false AS is_buy
    FROM candles
    WHERE network = {network:String} AND pool IN {pools:Array(String)}
      AND resolution = {resolution:UInt32}
      AND time >= toDateTime({from:UInt32}, 'UTC') AND time < toDateTime({to:UInt32}, 'UTC') AND trades > 0
)
GROUP BY pool, bucket
