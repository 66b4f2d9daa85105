-- The next range that a job has overwritten, in the order of jobs and of blocks.
SELECT
    toFloat64(first) AS "from", toFloat64(last) AS "to", filter, job, toUnixTimestamp(first_time) AS "firstTime",
    toString(ticks) AS ticks, toString(digest) AS digest
FROM coverage FINAL
WHERE network = {network:String} AND (coverage.job > {job:UInt32} OR (coverage.job = {job:UInt32} AND coverage.first >= {block:UInt64}))
ORDER BY coverage.job, coverage.first
LIMIT 1
SETTINGS max_threads = 1
