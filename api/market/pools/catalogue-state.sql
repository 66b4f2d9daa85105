-- Changes whenever a pool is added, told anew or rolled back: every such row has a version of its own.
SELECT concat(toString(count()), ':', toString(max(version)), ':', toString(sum(version))) AS state
FROM pools
