-- What a key used in the current minute and month in other processes, and in this one before it was last started.
SELECT
    sumIf(credits, minute = toDateTime({minute:UInt32}, 'UTC')) AS minute_credits,
    sumIf(calls, minute = toDateTime({minute:UInt32}, 'UTC'))   AS minute_calls,
    sum(credits)                                                AS month_credits,
    sum(calls)                                                  AS month_calls
FROM usage FINAL
WHERE key_hash = unhex({hash:String})
  AND minute >= toDateTime({month_start:UInt32}, 'UTC')
  AND minute < toDateTime({month_end:UInt32}, 'UTC')
  AND instance != {instance:UUID}
