-- Changes whenever a token is named; `newest` is when, in milliseconds.
SELECT
    network,
    toFloat64(count())                                  AS rows,
    toFloat64(toUnixTimestamp64Milli(max(written)))     AS newest
FROM token_names
GROUP BY network
