-- Tokens of a network that have some symbols (lower case) now, and tokens that had them before: up to `limit` of each, listed tokens first,
-- then by the block of their renaming. With `only_listed`, listed tokens alone.
WITH
    renamed AS (SELECT symbol, token FROM tokens_by_symbol WHERE network = {network:String} AND symbol IN {symbols:Array(String)} AND is_renamed),
    -- Of 100,000 tokens with one symbol, as many as are sent: to sort all takes longer than all else.
    sent AS
    (
        SELECT
            symbol,
            groupUniqArrayIf({limit:UInt32})(token, (symbol, token) NOT IN renamed) AS unchanged,
            groupUniqArrayIf(token, is_renamed OR token IN {listed:Array(String)})  AS others
        FROM tokens_by_symbol
        WHERE network = {network:String}
          AND symbol IN {symbols:Array(String)}
          AND (NOT {only_listed:Bool} OR token IN {listed:Array(String)})
        GROUP BY symbol
    ),
    called AS (SELECT symbol, arrayJoin(arrayDistinct(arrayConcat(unchanged, others))) AS token FROM sent),
    named AS
    (
        SELECT
            token,
            lowerUTF8(argMax(t.symbol, t.block))                 AS symbol,
            arrayMap(it -> lowerUTF8(it), argMax(t.former, t.block)) AS former,
            max(t.block)                                         AS block
        FROM token_names AS t
        WHERE network = {network:String} AND token IN (SELECT token FROM called)
        GROUP BY token
    )
SELECT
    c.symbol                                                     AS symbol,
    c.token                                                      AS token,
    n.token = '' OR n.symbol = c.symbol                          AS is_now
FROM called AS c
LEFT ANY JOIN named AS n ON n.token = c.token
WHERE is_now OR has(n.former, c.symbol)
ORDER BY symbol, is_now, token IN {listed:Array(String)} DESC, n.block, token
LIMIT {limit:UInt32} BY symbol, is_now
SETTINGS max_threads = 1
