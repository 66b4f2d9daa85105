-- The names of now of renamed tokens, among some tokens.
SELECT token, argMax(t.symbol, t.block) AS symbol, argMax(t.name, t.block) AS name
FROM token_names AS t
WHERE network = {network:String} AND token IN {tokens:Array(String)}
GROUP BY token
SETTINGS max_threads = 1
