-- The pools of pairs of tokens, in either order: how many each has, and which, where these are few. The arrays run alongside each other.
SELECT
    token,
    other_token,
    toFloat64(uniqExact(pool))                                            AS count,
    if(count > {few:UInt32}, [], arraySort(groupUniqArray({few:UInt32})(pool))) AS pools
FROM pools_by_token FINAL
WHERE network = {network:String}
  AND (token, other_token) IN arrayZip({tokens:Array(String)}, {others:Array(String)})
  AND venue IN {venues:Array(String)}
GROUP BY token, other_token
