-- Stored candles of several pools, for api/market/cache/group-rows.ts: each row after the pool's place in the list, its resolution and its
-- version. All versions of a candle are sent, in any order, and the reader takes the newest: ORDER BY with LIMIT BY takes 1.5 ms of CPU
-- a query, and FINAL more. Prices are sent as they are stored: to add them up here takes 2 ms of CPU a query. bucket-loads.ts appends the
-- condition on pools and chunks.
SELECT
    toUInt16(indexOf({pools:Array(String)}, pool) - 1) AS place,
    resolution,
    version,
    toUInt32(toUnixTimestamp(c.time)) AS second,
    open, high_ulps, low_ulps, close_ulps, spot_open_ulps, spot_high_ulps, spot_low_ulps, spot_close_ulps, volume0, volume1, trades, volume_usd,
    buys, mixed_buys0, mixed_buys1, unexecuted
FROM candles AS c
PREWHERE network = {network:String}
