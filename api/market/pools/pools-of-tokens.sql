-- The pools of tokens beside any other: how many each has, and which, where these are few.
SELECT
    token,
    toFloat64(uniqExact(pool))                                            AS count,
    if(count > {few:UInt32}, [], arraySort(groupUniqArray({few:UInt32})(pool))) AS pools
FROM pools_by_token FINAL
WHERE network = {network:String}
  AND token IN {tokens:Array(String)}
  AND venue IN {venues:Array(String)}
GROUP BY token
