-- Blocks on the ledger whose ticks are not those that were counted when they came, and ticks of blocks that are not on it.
-- Blocks that a job has overwritten are left out: `coverage` has their counts.
SELECT
    toFloat64(number) AS number, countIf(is_ledger) > 0 AS is_known,
    toString(sumIf(ticks, is_ledger)) AS stored_ticks, toString(sumIf(digest, is_ledger)) AS stored_digest,
    toString(sumIf(ticks, NOT is_ledger)) AS counted_ticks, toString(sumIf(digest, NOT is_ledger)) AS counted_digest
FROM
(
    SELECT number, toUInt64(ticks) AS ticks, digest, true AS is_ledger
    FROM blocks FINAL
    WHERE network = {network:String} AND number BETWEEN {from:UInt64} AND {to:UInt64}
    UNION ALL
    SELECT block AS number, count() AS ticks, sum(tick_digest) AS digest, false AS is_ledger
    FROM ticks FINAL
    WHERE network = {network:String} AND block BETWEEN {from:UInt64} AND {to:UInt64}
      AND ticks.time >= toDateTime({since:UInt32}, 'UTC') AND ticks.time < toDateTime({until:UInt32}, 'UTC')
    GROUP BY block
)
WHERE NOT arrayExists((first, last) -> number BETWEEN first AND last, {firsts:Array(UInt64)}, {lasts:Array(UInt64)})
GROUP BY number
HAVING stored_ticks != counted_ticks OR stored_digest != counted_digest
ORDER BY number
LIMIT {limit:UInt32}
