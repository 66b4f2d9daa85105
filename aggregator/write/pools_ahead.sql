-- Pools, among some, with ticks above a block of this second, or candles after it, on the same day.
SELECT DISTINCT pool
FROM
(
    SELECT pool
    FROM ticks FINAL
    WHERE network = {network:String} AND pool IN {pools:Array(String)}
      AND time >= toDateTime({second:UInt32}, 'UTC') AND time < toStartOfDay(toDateTime({second:UInt32}, 'UTC')) + INTERVAL 1 DAY
      AND block > {block:UInt64}
    UNION ALL
    SELECT pool
    FROM candles FINAL
    WHERE network = {network:String} AND pool IN {pools:Array(String)} AND resolution = 1
      AND time > toDateTime({second:UInt32}, 'UTC') AND time < toStartOfDay(toDateTime({second:UInt32}, 'UTC')) + INTERVAL 1 DAY
      AND trades > 0
)
