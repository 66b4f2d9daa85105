-- The views of analysts: decimal-adjusted, with symbols, without duplicates, tombstones and buckets that lost their trades. Filter by network, pool and
-- time: they are the keys of the tables below.

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

CREATE OR REPLACE VIEW market_ticks AS
SELECT
    t.network                                          AS network,
    t.pool                                             AS pool,
    p.pair                                             AS pair,
    t.time                                             AS time,
    t.block                                            AS block,
    t.log_index                                        AS log_index,
    concat('0x', lower(hex(t.transaction_hash)))       AS transaction_hash,
    -- `buy`: the taker receives token0; where that did not move, token1 decides.
    if(t.amount0 = 0, t.amount1 <= 0, t.amount0 > 0) ? 'buy' : 'sell' AS side,
    t.price                                            AS price,           -- execution, token1 per token0
    t.spot_price                                       AS spot_price,
    toFloat64(t.amount0) / exp10(p.decimals0)          AS amount0,         -- taker's view: received is positive
    toFloat64(t.amount1) / exp10(p.decimals1)          AS amount1,
    toFloat64(t.amount_usd)                            AS amount_usd,
    t.amount0                                          AS raw_amount0,
    t.amount1                                          AS raw_amount1,
    t.fee                                              AS fee,
    t.liquidity                                        AS liquidity,
    t.pool_tick                                        AS pool_tick,
    if(t.sender = toFixedString('', 20), '', concat('0x', lower(hex(t.sender))))::String AS sender
FROM ticks AS t FINAL
LEFT ANY JOIN market_pools AS p ON p.network = t.network AND p.pool = t.pool;

CREATE OR REPLACE VIEW market_candles AS
SELECT
    c.network                                          AS network,
    c.pool                                             AS pool,
    p.pair                                             AS pair,
    c.resolution                                       AS resolution,      -- seconds: 1, 60, 3600 or 86400
    c.time                                             AS time,
    c.open                                             AS open,            -- execution prices, token1 per token0
    c.high                                             AS high,
    c.low                                              AS low,
    c.close                                            AS close,
    c.spot_open                                        AS spot_open,
    c.spot_high                                        AS spot_high,
    c.spot_low                                         AS spot_low,
    c.spot_close                                       AS spot_close,
    toFloat64(c.volume0) / exp10(p.decimals0)          AS volume0,
    toFloat64(c.volume1) / exp10(p.decimals1)          AS volume1,
    toFloat64(c.volume_usd)                            AS volume_usd,
    c.trades                                           AS trades,
    c.buys                                             AS buys,            -- trades whose taker received token0
    toFloat64(c.bought0) / exp10(p.decimals0)          AS buy_volume0,     -- what they received
    toFloat64(c.bought1) / exp10(p.decimals1)          AS buy_volume1      -- what they paid
FROM candles AS c FINAL
LEFT ANY JOIN market_pools AS p ON p.network = c.network AND p.pool = c.pool
WHERE c.trades > 0;
