-- Tokens of the pools between two sets of tokens that may be worth `sound_usd` or more, both tokens of each; without any, of the pool that may be
-- worth most. Of 100,000 tokens with one symbol these are few, and to order the pools of all takes several times as long. Tokens that had the
-- symbol before count, too. `usd` runs alongside `tokens`: dollars a raw unit.
WITH
    sighted AS
    (
        SELECT pool_hash, token, other_token
        FROM pools_by_token
        WHERE network = {network:String}
          AND token IN
          (
              SELECT arrayJoin({ones:Array(String)})
              UNION ALL
              SELECT token FROM tokens_by_symbol WHERE network = {network:String} AND symbol = {one_symbol:String} AND symbol != ''
          )
          AND other_token IN
          (
              SELECT arrayJoin({others:Array(String)})
              UNION ALL
              SELECT token FROM tokens_by_symbol WHERE network = {network:String} AND symbol = {other_symbol:String} AND symbol != ''
          )
          AND (NOT {only_v3:Bool} OR length(pool) = 42)
    ),
    bounds AS
    (
        SELECT pool_hash, sum(minted0) AS minted0, sum(minted1) AS minted1, max(held0) AS held0, max(held1) AS held1
        FROM pool_bounds
        WHERE network = {network:String}
          AND pool_hash IN (SELECT pool_hash FROM sighted)
        GROUP BY pool_hash
    ),
    valued AS
    (
        SELECT
            [s.token, s.other_token]                                          AS pair,
            transform(least(s.token, s.other_token), {tokens:Array(String)}, {usd:Array(Float64)}, 0.)    AS usd0,
            transform(greatest(s.token, s.other_token), {tokens:Array(String)}, {usd:Array(Float64)}, 0.) AS usd1,
            greatest(b.minted0 * usd0 + b.minted1 * usd1, b.held0 * usd0 + b.held1 * usd1)                AS bound_usd
        FROM sighted AS s
        LEFT ANY JOIN bounds AS b ON b.pool_hash = s.pool_hash
    )
SELECT
    groupArrayIf({limit:UInt32})(pair, bound_usd >= {sound_usd:Float64})       AS sound,
    arrayDistinct(arrayFlatten(arrayPushBack(sound, argMax(pair, bound_usd)))) AS tokens
FROM valued
-- The order of a key is compared with a set once for each part: with 100,000 tokens that takes longer than a read of the side that addresses name.
SETTINGS max_threads = 2, use_index_for_in_with_subqueries_max_values = 10000
