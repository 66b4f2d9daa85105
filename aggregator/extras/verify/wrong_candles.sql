-- Buckets of some pools that differ from the sum of their ticks, of all resolutions, with the stored and the counted values.
SELECT
    pool, resolution, toUnixTimestamp(time) AS start,
    anyIf(facts, is_stored) AS stored, anyIf(facts, NOT is_stored) AS counted,
    countIf(is_stored) > 0 AS has_stored, countIf(NOT is_stored) > 0 AS has_counted
FROM
(
    SELECT
        pool, resolution, time, false AS is_stored,
        array(
            toString(argMinIf(price, place, is_executed)), toString(maxIf(price, is_executed)),
            toString(minIf(price, is_executed)), toString(argMaxIf(price, place, is_executed)),
            toString(argMin(spot_price, place)), toString(max(spot_price)), toString(min(spot_price)),
            toString(argMax(spot_price, place)),
            toString(sum(toUInt256(abs(amount0)))), toString(sum(toUInt256(abs(amount1)))), toString(sum(amount_usd)),
            toString(count()), toString(countIf(is_buy)), toString(sumIf(toUInt256(abs(amount0)), is_buy)),
            toString(sumIf(toUInt256(abs(amount1)), is_buy)), toString(countIf(NOT is_executed))
        ) AS facts
    FROM
    (
        SELECT
            pool, arrayJoin([1, 60, 3600, 86400]) AS resolution,
            toDateTime(intDiv(toUnixTimestamp(ticks.time), resolution) * resolution, 'UTC') AS time,
            (block, log_index) AS place, price, spot_price, amount0, amount1, amount_usd,
            amount0 != 0 OR amount1 != 0 AS is_executed, amount0 > 0 OR (amount0 = 0 AND amount1 <= 0) AS is_buy
        FROM ticks FINAL
        WHERE network = {network:String} AND pool IN {pools:Array(String)}
          AND ticks.time >= toDateTime({from:UInt32}, 'UTC') AND ticks.time < toDateTime({to:UInt32}, 'UTC')
    )
    GROUP BY pool, resolution, time
    UNION ALL
    SELECT
        pool, resolution, time, true AS is_stored,
        array(
            toString(open), toString(high), toString(low), toString(close),
            toString(spot_open), toString(spot_high), toString(spot_low), toString(spot_close),
            toString(volume0), toString(volume1), toString(volume_usd), toString(trades),
            toString(buys), toString(bought0), toString(bought1), toString(unexecuted)
        ) AS facts
    FROM candles FINAL
    WHERE network = {network:String} AND pool IN {pools:Array(String)} AND resolution IN (1, 60, 3600, 86400)
      AND time >= toDateTime({from:UInt32}, 'UTC') AND time < toDateTime({to:UInt32}, 'UTC') AND trades > 0
)
GROUP BY pool, resolution, time
HAVING NOT (has_stored AND has_counted) OR stored != counted
ORDER BY pool, resolution, time
LIMIT {limit:UInt32}
