-- Buckets that differ from the sum of the next finer ones: seconds from their ticks, minutes from their seconds, hours and days likewise.
-- From one place of the key up to another within a month: a pool and a second. A bucket belongs to the piece that holds its last second.
SELECT pool, resolution, toUnixTimestamp(bucket) AS start
FROM
(
    SELECT
        pool, toUInt32(1) AS resolution, time AS bucket, false AS is_stored, (block, log_index) AS place,
        if(amount0 != 0 OR amount1 != 0, price, 0) AS open, open AS high, open AS low, open AS close,
        spot_price AS spot_open, spot_price AS spot_high, spot_price AS spot_low, spot_price AS spot_close,
        toUInt256(abs(amount0)) AS volume0, toUInt256(abs(amount1)) AS volume1, amount_usd AS volume_usd, toUInt64(1) AS trades,
        toUInt64(amount0 > 0 OR (amount0 = 0 AND amount1 <= 0)) AS buys, buys = 1 ? volume0 : toUInt256(0) AS bought0, buys = 1 ? volume1 : toUInt256(0) AS bought1,
        toUInt64(amount0 = 0 AND amount1 = 0) AS unexecuted
    FROM ticks FINAL
    WHERE network = {network:String} AND time >= toDateTime({from:UInt32}, 'UTC') AND time < toDateTime({to:UInt32}, 'UTC')
      AND (pool > {pool:String} OR (pool = {pool:String} AND time >= toDateTime({second:UInt32}, 'UTC')))
      AND (pool < {end_pool:String} OR (pool = {end_pool:String} AND time < toDateTime({end_second:UInt32}, 'UTC')))
    UNION ALL
    SELECT
        pool, is_stored ? resolution : transform(resolution, [1, 60, 3600], [60, 3600, 86400], 0) AS resolution,
        toDateTime(intDiv(toUnixTimestamp(time), resolution) * resolution, 'UTC') AS bucket, is_stored,
        (toUInt64(toUnixTimestamp(time)), toUInt32(0)) AS place,
        open, high, low, close, spot_open, spot_high, spot_low, spot_close, volume0, volume1, volume_usd, trades, buys, bought0, bought1,
        unexecuted
    FROM
    (
        SELECT
            pool, resolution, time, open, high, low, close, spot_open, spot_high, spot_low, spot_close, volume0, volume1, volume_usd, trades,
            buys, bought0, bought1, unexecuted
        FROM candles FINAL
        WHERE network = {network:String} AND resolution IN (1, 60, 3600, 86400)
          AND time >= toDateTime({from:UInt32}, 'UTC') AND time < toDateTime({to:UInt32}, 'UTC')
          AND (pool > {pool:String} OR (pool = {pool:String} AND (
              (resolution = 1 AND time >= toDateTime(intDiv({second:UInt32}, 60) * 60, 'UTC'))
              OR (resolution = 60 AND time >= toDateTime(intDiv({second:UInt32}, 3600) * 3600, 'UTC'))
              OR (resolution IN (3600, 86400) AND time >= toDateTime(intDiv({second:UInt32}, 86400) * 86400, 'UTC')))))
          AND (pool < {end_pool:String} OR (pool = {end_pool:String} AND time < toDateTime({end_second:UInt32}, 'UTC')))
          AND trades > 0
    ) AS stored
    ARRAY JOIN [true, false] AS is_stored
    WHERE is_stored OR stored.resolution < 86400
)
WHERE toUnixTimestamp(bucket) >= intDiv(if(pool = {pool:String}, greatest({second:UInt32}, {from:UInt32}), {from:UInt32}), resolution) * resolution
  AND toUnixTimestamp(bucket) < intDiv(if(pool = {end_pool:String}, least({end_second:UInt32}, {to:UInt32}), {to:UInt32}), resolution) * resolution
GROUP BY pool, resolution, bucket
HAVING countIf(is_stored) = 0 OR countIf(NOT is_stored) = 0
    OR (anyIf(open, is_stored), anyIf(high, is_stored), anyIf(low, is_stored), anyIf(close, is_stored))
        != (argMinIf(open, place, NOT is_stored AND open > 0), maxIf(high, NOT is_stored AND open > 0),
            minIf(low, NOT is_stored AND open > 0), argMaxIf(close, place, NOT is_stored AND open > 0))
    OR (anyIf(spot_open, is_stored), anyIf(spot_high, is_stored), anyIf(spot_low, is_stored), anyIf(spot_close, is_stored))
        != (argMinIf(spot_open, place, NOT is_stored), maxIf(spot_high, NOT is_stored), minIf(spot_low, NOT is_stored),
            argMaxIf(spot_close, place, NOT is_stored))
    OR (anyIf(volume0, is_stored), anyIf(volume1, is_stored), anyIf(volume_usd, is_stored), anyIf(trades, is_stored))
        != (sumIf(volume0, NOT is_stored), sumIf(volume1, NOT is_stored), sumIf(volume_usd, NOT is_stored), sumIf(trades, NOT is_stored))
    OR (anyIf(buys, is_stored), anyIf(bought0, is_stored), anyIf(bought1, is_stored), anyIf(unexecuted, is_stored))
        != (sumIf(buys, NOT is_stored), sumIf(bought0, NOT is_stored), sumIf(bought1, NOT is_stored), sumIf(unexecuted, NOT is_stored))
ORDER BY resolution, pool, start
LIMIT {limit:UInt32}
SETTINGS max_threads = 1
