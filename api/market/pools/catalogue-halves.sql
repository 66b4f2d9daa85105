-- The state of each network's pools, of live blocks and of final history apart: versions of the latter are in the higher half.
SELECT
    network,
    concat(network, ':', toString(bitShiftRight(version, 63))) AS half,
    toFloat64(count())     AS rows,
    toString(max(version)) AS newest,
    toString(sum(cityHash64(version, block))) AS sum
FROM pools
GROUP BY network, bitShiftRight(version, 63)
