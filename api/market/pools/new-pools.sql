-- The newest pools of each network that hold a minimum of trusted tokens. Creating a pool costs nothing, so that their number says nothing.
-- Held are mints and burns as in held.sql: in range at the last price, weighted by time over the day that ends at `end`.
-- The arrays run alongside each other: a trusted token as `network:address`, and its dollars a raw unit.
WITH
    created AS
    (
        SELECT
            network,
            pool,
            min(p.time)                                                                          AS first_seen,
            {usd:Array(Float64)}[indexOf({tokens:Array(String)}, concat(network, ':', any(p.token0_address)))] AS usd0,
            {usd:Array(Float64)}[indexOf({tokens:Array(String)}, concat(network, ':', any(p.token1_address)))] AS usd1,
            exp10(toInt16(any(p.token1_decimals)) - toInt16(any(p.token0_decimals)))             AS scale,
            pow(toFloat64(max(p.initial_sqrt_price)) / pow(2, 96), 2)                            AS first_price
        FROM pools AS p FINAL
        WHERE network IN {networks:Array(String)}
        GROUP BY network, pool
        HAVING first_seen >= toDateTime({since:UInt32}, 'UTC') AND first_price > 0 AND (usd0 > 0 OR usd1 > 0)
    ),
    prices AS
    (
        SELECT
            network,
            pool,
            argMax(c.spot_close, c.time) AS last_price
        FROM candles AS c FINAL
        WHERE (network, pool) IN (SELECT network, pool FROM created)
          AND resolution = 3600
          AND c.trades > 0
        GROUP BY network, pool
    ),
    -- Without FINAL, which would merge the rows of all pools.
    changes AS
    (
        SELECT
            network,
            pool,
            argMax(c.tick_lower, c.version)                                AS lower,
            argMax(c.tick_upper, c.version)                                AS upper,
            argMax(toFloat64(c.liquidity_delta), c.version)                AS delta,
            {end:Int64} - toInt64(toUnixTimestamp(argMax(c.time, c.version))) AS age
        FROM liquidity_changes AS c
        WHERE network IN {networks:Array(String)}
          AND pool IN (SELECT pool FROM created)
        GROUP BY network, pool, block, log_index
        HAVING argMax(c.is_deleted, c.version) = 0
    ),
    positions AS
    (
        SELECT
            network,
            pool,
            pow(1.0001, lower / 2)                                         AS root_lower,
            pow(1.0001, upper / 2)                                         AS root_upper,
            sum(delta * least(greatest(age / 86400, 0), 1))                AS kept
        FROM changes
        GROUP BY network, pool, lower, upper
        HAVING kept > 0
    )
SELECT
    created.network AS network,
    created.pool    AS pool,
    sum(kept * ((1 / root - 1 / root_upper) * usd0 + (root - root_lower) * usd1)) AS held_usd
FROM
(
    SELECT
        created.network,
        created.pool,
        created.first_seen,
        usd0,
        usd1,
        root_lower,
        root_upper,
        kept,
        sqrt(if(last_price > 0, last_price * scale, first_price)) AS root
    FROM positions
    INNER JOIN created ON created.network = positions.network AND created.pool = positions.pool
    LEFT JOIN prices ON prices.network = positions.network AND prices.pool = positions.pool
) AS created
WHERE root_lower <= root AND root < root_upper
GROUP BY network, pool
HAVING held_usd >= {min_usd:Float64}
ORDER BY any(first_seen) DESC
LIMIT {limit:UInt32} BY network
