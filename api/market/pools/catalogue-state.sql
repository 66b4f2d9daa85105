-- Changes whenever a pool is added, written again or rolled back: every such row has a version of its own.
SELECT concat(toString(count()), ':', toString(max(version)), ':', toString(sum(version))) AS state
FROM pools
