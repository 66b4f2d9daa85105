-- The state of each network's pools of live blocks and of final history, whose versions are the higher half. It changes whenever a pool is added,
-- written again or rolled back: every such row has a version of its own.
SELECT
    network,
    concat(network, ':', toString(bitShiftRight(version, 63))) AS half,
    toFloat64(count())     AS rows,
    toString(max(version)) AS newest,
    toString(sum(version)) AS sum
FROM pools
GROUP BY network, half
