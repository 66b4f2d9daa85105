-- Some pools of a network, as their newest sighting tells of them; the price they began with from whichever sighting has it. As one tuple, since
-- each aggregate function adds to the time in which ClickHouse plans the statement.
SELECT
    pool                                                        AS id,
    argMax(
        tuple(
            p.protocol, p.venue, p.hooks, p.fee,
            p.token0_address, p.token0_symbol, p.token0_name, p.token0_decimals,
            p.token1_address, p.token1_symbol, p.token1_name, p.token1_decimals
        ),
        p.block
    )                                                           AS newest,
    toString(max(p.initial_sqrt_price))                         AS initial_sqrt_price,
    toFloat64(minIf(p.block, p.initial_sqrt_price > 0))         AS created,
    toUnixTimestamp(min(p.time))                                AS first_seen
FROM pools AS p FINAL
WHERE network = {network:String} AND pool IN {pools:Array(String)}
GROUP BY pool
SETTINGS enable_named_columns_in_function_tuple = 1, max_threads = 1
