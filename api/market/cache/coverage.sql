-- Unbroken runs of blocks that jobs have read, for each network and filter of pools.
SELECT
    network,
    filter,
    toFloat64(min(first))            AS "from",
    toFloat64(max(last))             AS "to",
    toUnixTimestamp(min(first_time)) AS fromTime,
    toUnixTimestamp(max(last_time))  AS toTime
FROM
(
    SELECT *, sum(begins) OVER (PARTITION BY network, filter ORDER BY first, last ROWS UNBOUNDED PRECEDING) AS run
    FROM
    (
        SELECT
            network, filter, first, last, first_time, last_time,
            -- Of the first row nothing is before: whether that begins a run makes no difference.
            first > max(last) OVER before + 1 AS begins
        FROM coverage FINAL
        WHERE network IN {networks:Array(String)}
        WINDOW before AS (PARTITION BY network, filter ORDER BY first, last ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
    )
)
GROUP BY network, filter, run
ORDER BY "from"
