-- Which pools have candles, of any resolution, that reach beyond a moment. Without FINAL: a recomputed candle counts with its older rows, too.
SELECT pool, {since:UInt32} AS first, greatest({since:UInt32}, max(toUnixTimestamp(time) + resolution - 1)) AS last
FROM candles
WHERE network = {network:String} AND toUnixTimestamp(time) + resolution > {since:UInt32} AND trades > 0
GROUP BY pool
