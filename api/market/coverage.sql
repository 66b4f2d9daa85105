-- Unbroken runs of blocks that jobs have read, for each filter of pools.
SELECT
    filter,
    toFloat64(min(first))            AS "from",
    toFloat64(max(last))             AS "to",
    toUnixTimestamp(min(first_time)) AS fromTime,
    toUnixTimestamp(max(last_time))  AS toTime
FROM
(
    SELECT *, sum(begins) OVER (PARTITION BY filter ORDER BY first, last ROWS UNBOUNDED PRECEDING) AS run
    FROM
    (
        SELECT
            filter, first, last, first_time, last_time,
            -- Of the first row nothing is before: whether that begins a run makes no difference.
            first > max(last) OVER (PARTITION BY filter ORDER BY first, last ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) + 1 AS begins
        FROM coverage FINAL
        WHERE network = {network:String}
    )
)
GROUP BY filter, run
ORDER BY "from"
