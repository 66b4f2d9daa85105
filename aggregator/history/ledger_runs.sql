-- Unbroken runs of blocks in a stretch of the ledger.
WITH
    -- A row covers `first` to `number`. Where one follows on the other, only the ends of the run say anything.
    ends AS
    (
        SELECT first, number, time, next
        FROM
        (
            SELECT
                first, number, time,
                lagInFrame(number, 1, number) OVER beside   AS previous,
                leadInFrame(number, 1, number) OVER beside  AS next
            FROM blocks FINAL
            WHERE network = {network:String} AND number > {since:Int64} AND number < {below:UInt64}
            WINDOW beside AS (ORDER BY number ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)
        )
        WHERE first < number OR previous + 1 != number OR next != number + 1
    ),
    covered AS
    (
        SELECT
            first,
            time                                                                AS first_time,
            -- Blocks between two connected ends have no rows: the first of the two covers them.
            if(next = number + 1, leadInFrame(number, 1, number) OVER onward, number)   AS last,
            if(next = number + 1, leadInFrame(time, 1, time) OVER onward, time)         AS last_time
        FROM ends
        WINDOW onward AS (ORDER BY number ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING)
    ),
    -- From the newest down: a run begins where all that is newer begins later.
    runs AS
    (
        SELECT *, sum(begins) OVER (ORDER BY last DESC, first DESC ROWS UNBOUNDED PRECEDING) AS run
        FROM
        (
            SELECT
                *,
                last + 1 < min(first) OVER (ORDER BY last DESC, first DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS begins
            FROM covered
        )
    )
SELECT
    toFloat64(min(first))             AS "from",
    toFloat64(max(last))              AS "to",
    toUnixTimestamp(min(first_time))  AS fromTime,
    toUnixTimestamp(max(last_time))   AS toTime
FROM runs
GROUP BY run
ORDER BY "from"
-- Live questions and flushes keep the other cores.
SETTINGS max_threads = 1
