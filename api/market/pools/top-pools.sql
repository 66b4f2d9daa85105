-- The first pools of a network between two sets of tokens, in one row: by value, by value times the seconds that it was there, and by volume.
-- A position is valued at the pool's last price, a v3 pool by its newest balance. A pool that led the pair years ago is found by
-- its seconds: to push it out takes as much money for as long. `usd` runs alongside `tokens`: dollars a raw unit. Hashes of ids are the keys
-- of joins: ids are three to five times as long.
    , -- After sighted-by-addresses.sql or sighted-by-symbols.sql.
    of_pair AS (SELECT pool FROM sighted),
    listed AS
    (
        SELECT
            sipHash128(n.pool)                                                AS key,
            any(n.pool)                                                       AS id,
            any(least(n.token, n.other_token))                                AS token0,
            any(greatest(n.token, n.other_token))                             AS token1,
            exp10(toInt16(any(n.token1_decimals)) - toInt16(any(n.token0_decimals))) AS scale,
            pow(toFloat64(max(n.initial_sqrt_price)) / pow(2, 96), 2)         AS first_price
        FROM sighted AS n
        GROUP BY key
    ),
    changes AS
    (
        SELECT
            sipHash128(c.pool)                                                AS key,
            argMax(c.tick_lower, c.version)                                   AS lower,
            argMax(c.tick_upper, c.version)                                   AS upper,
            argMax(toFloat64(c.liquidity_delta), c.version)                   AS delta,
            toInt64(toUnixTimestamp(now())) - toInt64(toUnixTimestamp(argMax(c.time, c.version))) AS age
        -- Without FINAL, which would merge the rows of all pools.
        FROM liquidity_changes AS c
        WHERE network = {network:String}
          AND pool IN of_pair
        GROUP BY key, block, log_index
        HAVING argMax(c.is_deleted, c.version) = 0
    ),
    positions AS
    (
        SELECT
            key,
            pow(1.0001, lower / 2)                                            AS root_lower,
            pow(1.0001, upper / 2)                                            AS root_upper,
            greatest(sum(delta), 0)                                           AS kept,
            greatest(sum(delta * greatest(age, 0)), 0)                        AS seconds
        FROM changes
        GROUP BY key, lower, upper
    ),
    traded AS
    (
        SELECT
            sipHash128(c.pool)                                                AS key,
            argMax(c.spot_close, c.time)                                      AS last_price,
            sum(toFloat64(c.volume_usd))                                      AS volume
        FROM candles AS c FINAL
        WHERE network = {network:String}
          -- A pool whose creation is stored, and no liquidity after it, has not traded.
          AND (pool IN (SELECT pool FROM sighted WHERE initial_sqrt_price = 0)
            OR pool IN (SELECT pool FROM liquidity_changes WHERE network = {network:String} AND pool IN of_pair))
          AND resolution = 86400
          AND trades > 0
        GROUP BY key
    ),
    balances AS
    (
        SELECT
            sipHash128(b.pool)                                                AS key,
            1                                                                 AS is_known,
            argMax((toFloat64(b.balance0), toFloat64(b.balance1)), (b.hour, b.version)) AS held
        FROM pool_balance_hours AS b
        WHERE network = {network:String}
          AND pool IN of_pair
          AND is_deleted = 0
        GROUP BY key
    ),
    -- A row a position, and one for a pool without any.
    priced AS
    (
        SELECT
            l.key                                                             AS key,
            l.id                                                              AS id,
            {usd:Array(Float64)}[indexOf({tokens:Array(String)}, l.token0)]   AS usd0,
            {usd:Array(Float64)}[indexOf({tokens:Array(String)}, l.token1)]   AS usd1,
            t.last_price                                                      AS last_price,
            t.volume                                                          AS volume,
            c.root_upper > 0                                                  AS has_position,
            c.kept                                                            AS kept,
            c.seconds                                                         AS seconds,
            sqrt(if(last_price > 0, last_price * l.scale, l.first_price))     AS price_root,
            least(greatest(price_root, c.root_lower), c.root_upper)           AS root,
            if(has_position, (1 / root - 1 / c.root_upper) * usd0 + (root - c.root_lower) * usd1, 0) AS usd
        FROM listed AS l
        LEFT ANY JOIN traded AS t ON t.key = l.key
        LEFT ALL JOIN positions AS c ON c.key = l.key
    ),
    pools_of_pair AS
    (
        SELECT
            h.id                                                              AS pool,
            h.volume                                                          AS volume,
            if(b.is_known, b.held.1 * h.usd0 + b.held.2 * h.usd1, h.held_usd) AS value_usd,
            greatest(h.held_seconds, 86400 * value_usd * b.is_known)          AS seconds,
            h.has_any OR b.is_known OR h.last_price > 0                       AS is_active
        FROM
        (
            SELECT
                key,
                any(p.id)                                                     AS id,
                any(p.usd0)                                                   AS usd0,
                any(p.usd1)                                                   AS usd1,
                any(p.last_price)                                             AS last_price,
                any(p.volume)                                                 AS volume,
                max(p.has_position)                                           AS has_any,
                sum(p.kept * p.usd)                                           AS held_usd,
                sum(p.seconds * p.usd)                                        AS held_seconds
            FROM priced AS p
            GROUP BY key
        ) AS h
        LEFT ANY JOIN balances AS b ON b.key = h.key
    )
SELECT
    groupArraySorted(120)((-value_usd, -volume, pool, is_active))             AS by_value,
    groupArraySortedIf(16)((-seconds, pool), is_active)                       AS by_seconds,
    groupArraySortedIf(16)((-volume, pool), is_active)                        AS by_volume,
    toFloat64(countIf(value_usd >= {sound_usd:Float64}))                      AS sound
FROM pools_of_pair
