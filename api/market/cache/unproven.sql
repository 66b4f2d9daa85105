-- The times of blocks with logs that differ between endpoints and are proven by none of them: the newest thousand of each network.
SELECT network, arraySlice(arraySort(arrayDistinct(arrayFlatten(groupArray(undecided_times)))), -1000) AS times
FROM audits FINAL
WHERE network IN {networks:Array(String)} AND notEmpty(undecided_times)
GROUP BY network
