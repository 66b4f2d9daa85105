-- The sightings of a network's pools between two sets of tokens, where a symbol names a set: top-pools.sql follows. A renamed token has the
-- symbol that it has now.
WITH
    one_called AS (SELECT token FROM tokens_by_symbol WHERE network = {network:String} AND symbol = {one_symbol:String}),
    other_called AS (SELECT token FROM tokens_by_symbol WHERE network = {network:String} AND symbol = {other_symbol:String}),
    renamed AS
    (
        SELECT token, lowerUTF8(argMax(t.symbol, t.block)) AS symbol
        FROM token_names AS t
        WHERE network = {network:String} AND (token IN one_called OR token IN other_called)
        GROUP BY token
    ),
    -- A set of its own for each side: the primary key serves no alternative of two.
    ones AS
    (
        SELECT arrayJoin({ones:Array(String)}) AS token
        UNION ALL
        SELECT token FROM one_called
        WHERE {one_symbol:String} != '' AND token NOT IN (SELECT token FROM renamed WHERE symbol != {one_symbol:String})
    ),
    others AS
    (
        SELECT arrayJoin({others:Array(String)}) AS token
        UNION ALL
        SELECT token FROM other_called
        WHERE {other_symbol:String} != '' AND token NOT IN (SELECT token FROM renamed WHERE symbol != {other_symbol:String})
    ),
    sighted AS
    (
        SELECT pool, token, other_token, initial_sqrt_price, token0_decimals, token1_decimals
        -- Without FINAL: a pool that a rollback removed is not found by its id.
        FROM pools_by_token
        WHERE network = {network:String}
          AND token IN ones
          AND ({any_other:Bool} OR other_token IN others)
          AND (NOT {only_v3:Bool} OR length(pool) = 42)
    )
