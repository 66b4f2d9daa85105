-- The state of each network's pools, which changes whenever one is added, written again or rolled back: every such row has a version of its own.
SELECT
    network,
    toFloat64(count())      AS rows,
    toString(max(version))  AS newest,
    toString(sum(version))  AS sum
FROM pools
GROUP BY network
