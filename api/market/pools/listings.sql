-- Some pools of a network, as their newest sighting tells of them; the price they began with from whichever sighting has it. A token that was
-- renamed has its name of now.
WITH
    seen AS
    (
        SELECT
            pool,
            argMax(p.protocol, p.block)         AS protocol,
            argMax(p.venue, p.block)            AS venue,
            argMax(p.fee, p.block)              AS fee,
            toString(max(p.initial_sqrt_price)) AS initial_sqrt_price,
            toFloat64(minIf(p.block, p.initial_sqrt_price > 0)) AS created,
            toUnixTimestamp(min(p.time))        AS first_seen,
            argMax(p.token0_address, p.block)   AS token0_address,
            argMax(p.token0_symbol, p.block)    AS token0_symbol,
            argMax(p.token0_name, p.block)      AS token0_name,
            argMax(p.token0_decimals, p.block)  AS token0_decimals,
            argMax(p.token1_address, p.block)   AS token1_address,
            argMax(p.token1_symbol, p.block)    AS token1_symbol,
            argMax(p.token1_name, p.block)      AS token1_name,
            argMax(p.token1_decimals, p.block)  AS token1_decimals
        FROM pools AS p FINAL
        WHERE network = {network:String} AND pool IN {pools:Array(String)}
        GROUP BY pool
    ),
    named AS
    (
        SELECT token, argMax(t.symbol, t.block) AS symbol, argMax(t.name, t.block) AS name
        FROM token_names AS t
        WHERE network = {network:String}
          AND token IN (SELECT arrayJoin([token0_address, token1_address]) FROM seen)
        GROUP BY token
    )
SELECT
    s.pool                                         AS id,
    s.protocol                                     AS protocol,
    s.venue                                        AS venue,
    s.fee                                          AS fee,
    s.initial_sqrt_price                           AS initial_sqrt_price,
    s.created                                      AS created,
    s.first_seen                                   AS first_seen,
    s.token0_address                               AS token0_address,
    if(n0.token = '', s.token0_symbol, n0.symbol)  AS token0_symbol,
    if(n0.token = '', s.token0_name, n0.name)      AS token0_name,
    s.token0_decimals                              AS token0_decimals,
    s.token1_address                               AS token1_address,
    if(n1.token = '', s.token1_symbol, n1.symbol)  AS token1_symbol,
    if(n1.token = '', s.token1_name, n1.name)      AS token1_name,
    s.token1_decimals                              AS token1_decimals
FROM seen AS s
LEFT ANY JOIN named AS n0 ON n0.token = s.token0_address
LEFT ANY JOIN named AS n1 ON n1.token = s.token1_address
