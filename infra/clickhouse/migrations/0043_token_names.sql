-- Tokens whose name is not the one that all of their pools were stored with: a contract may change it. One row a token; a pool's own row stays.
CREATE TABLE IF NOT EXISTS token_names
(
    network LowCardinality(String),
    token   String,                               -- lower-case hex
    symbol  String,
    name    String,
    former  Array(String),                        -- symbols that it had before, the newest first: at most four
    block   UInt64,                               -- final block at which this was read; 0: as its first pool was stored
    written DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(block)
ORDER BY (network, token);

-- What is stored of a token is found without a read of all pools.
ALTER TABLE pools
    ADD INDEX IF NOT EXISTS by_token0 token0_address TYPE bloom_filter(0.01) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS by_token1 token1_address TYPE bloom_filter(0.01) GRANULARITY 1;
ALTER TABLE pools MATERIALIZE INDEX by_token0;
ALTER TABLE pools MATERIALIZE INDEX by_token1;

-- Tokens that earlier versions stored under several names have the first one until they are read again.
INSERT INTO token_names (network, token, symbol, name, former, block)
SELECT
    network,
    token,
    argMin(names.symbol, (names.block, names.pool))  AS first_symbol,
    argMin(names.name, (names.block, names.pool))    AS first_name,
    arraySlice(arrayFilter(it -> it != first_symbol, groupUniqArray(8)(names.symbol)), 1, 4),
    0
FROM
(
    SELECT network, token0_address AS token, token0_symbol AS symbol, token0_name AS name, block, pool FROM pools
    UNION ALL
    SELECT network, token1_address, token1_symbol, token1_name, block, pool FROM pools
) AS names
GROUP BY network, token
HAVING uniqExact(names.symbol, names.name) > 1;

CREATE OR REPLACE VIEW market_pools AS
WITH
    named AS
    (
        SELECT network, token, argMax(t.symbol, t.block) AS symbol, argMax(t.name, t.block) AS name
        FROM token_names AS t
        GROUP BY network, token
    ),
    met AS
    (
        SELECT
            network,
            pool,
            argMax(protocol, block)        AS protocol,
            argMax(fee, block)             AS fee,
            argMax(token0_address, block)  AS token0,
            argMax(token0_symbol, block)   AS symbol0,
            argMax(token0_name, block)     AS name0,
            argMax(token0_decimals, block) AS decimals0,
            argMax(token1_address, block)  AS token1,
            argMax(token1_symbol, block)   AS symbol1,
            argMax(token1_name, block)     AS name1,
            argMax(token1_decimals, block) AS decimals1,
            min(pools.block)               AS first_block,
            min(pools.time)                AS first_seen,
            argMax(venue, block)           AS venue
        FROM pools FINAL
        GROUP BY network, pool
    )
SELECT
    m.network                                          AS network,
    m.pool                                             AS pool,
    m.protocol                                         AS protocol,
    m.fee                                              AS fee,             -- hundredths of a bip; 8388608: dynamic
    concat(symbol0, '-', symbol1)                      AS pair,
    m.token0                                           AS token0,
    if(n0.token = '', m.symbol0, n0.symbol)            AS symbol0,
    if(n0.token = '', m.name0, n0.name)                AS name0,
    m.decimals0                                        AS decimals0,
    m.token1                                           AS token1,
    if(n1.token = '', m.symbol1, n1.symbol)            AS symbol1,
    if(n1.token = '', m.name1, n1.name)                AS name1,
    m.decimals1                                        AS decimals1,
    m.first_block                                      AS first_block,
    m.first_seen                                       AS first_seen,
    m.venue                                            AS venue
FROM met AS m
LEFT ANY JOIN named AS n0 ON n0.network = m.network AND n0.token = m.token0
LEFT ANY JOIN named AS n1 ON n1.network = m.network AND n1.token = m.token1;
