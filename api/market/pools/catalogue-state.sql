-- Changes whenever a pool is added, written again or rolled back. All rows of a job have one version, so the sum counts the blocks too:
-- where a merge drops a row that a job wrote twice, the version alone does not tell it from a new row of that job.
SELECT concat(toString(count()), ':', toString(max(version)), ':', toString(sum(cityHash64(version, block)))) AS state
FROM pools
