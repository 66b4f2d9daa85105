-- The state of the pools by the first digits of their ids, as catalogue-state.sql tells that of all.
SELECT
    network,
    substring(pool, 1, {length:UInt8}) AS prefix,
    toFloat64(count())                 AS rows,
    concat(toString(count()), ':', toString(max(version)), ':', toString(sum(cityHash64(version, block)))) AS state
FROM pools
GROUP BY network, prefix
ORDER BY network, prefix
