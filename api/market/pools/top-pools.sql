-- The first pools of a network between two sets of tokens, in one row: by value, by value times the seconds that it was there, and by volume.
-- A position is worth what it is at the pool's last price, a v3 pool what its newest balance is. A pool that led the pair years ago is found by
-- its seconds: to push it out takes as much money for as long. A set of tokens is named by its addresses or by a symbol, which a renamed token
-- has now. `usd` runs alongside `tokens`: dollars a raw unit.
WITH
    renamed AS
    (
        SELECT token, lowerUTF8(argMax(t.symbol, t.block)) AS symbol
        FROM token_names AS t
        WHERE network = {network:String}
        GROUP BY token
    ),
    base_now AS (SELECT token FROM renamed WHERE symbol = {base:String}),
    base_before AS (SELECT token FROM renamed WHERE symbol != {base:String}),
    quote_now AS (SELECT token FROM renamed WHERE symbol = {quote:String}),
    quote_before AS (SELECT token FROM renamed WHERE symbol != {quote:String}),
    named AS
    (
        SELECT *
        -- Without FINAL: a pool that a rollback removed is not in the catalogue.
        FROM pools
        WHERE network = {network:String}
          AND (NOT {only_v3:Bool} OR length(pool) = 42)
          AND
          (
              (token0_address IN {bases:Array(String)} OR token0_address IN base_now
                OR lowerUTF8(token0_symbol) = {base:String} AND token0_address NOT IN base_before)
              AND ({any_quote:Bool} OR token1_address IN {quotes:Array(String)} OR token1_address IN quote_now
                OR lowerUTF8(token1_symbol) = {quote:String} AND token1_address NOT IN quote_before)
              OR (token1_address IN {bases:Array(String)} OR token1_address IN base_now
                OR lowerUTF8(token1_symbol) = {base:String} AND token1_address NOT IN base_before)
              AND ({any_quote:Bool} OR token0_address IN {quotes:Array(String)} OR token0_address IN quote_now
                OR lowerUTF8(token0_symbol) = {quote:String} AND token0_address NOT IN quote_before)
          )
    ),
    -- Without FINAL, which would merge the rows of all pools.
    changes AS
    (
        SELECT
            pool,
            argMax(c.tick_lower, c.version)                                   AS lower,
            argMax(c.tick_upper, c.version)                                   AS upper,
            argMax(toFloat64(c.liquidity_delta), c.version)                   AS delta,
            toInt64(toUnixTimestamp(now())) - toInt64(toUnixTimestamp(argMax(c.time, c.version))) AS age
        FROM liquidity_changes AS c
        WHERE network = {network:String}
          AND pool IN (SELECT pool FROM named)
        GROUP BY pool, block, log_index
        HAVING argMax(c.is_deleted, c.version) = 0
    ),
    figures AS
    (
        SELECT
            pool,
            any(n.token0_address)                                             AS token0,
            any(n.token1_address)                                             AS token1,
            exp10(toInt16(any(n.token1_decimals)) - toInt16(any(n.token0_decimals))) AS scale,
            pow(toFloat64(max(n.initial_sqrt_price)) / pow(2, 96), 2)         AS first_price,
            []::Array(Tuple(Float64, Float64, Float64, Float64))              AS positions,
            []::Array(Tuple(Float64, Float64))                                AS balances,
            0.                                                                AS last_price,
            0.                                                                AS volume
        FROM named AS n
        GROUP BY pool
        UNION ALL
        SELECT pool, '', '', 0, 0, groupArray((pow(1.0001, lower / 2), pow(1.0001, upper / 2), greatest(kept, 0), greatest(seconds, 0))), [], 0, 0
        FROM
        (
            SELECT pool, lower, upper, sum(delta) AS kept, sum(delta * greatest(age, 0)) AS seconds
            FROM changes
            GROUP BY pool, lower, upper
        )
        GROUP BY pool
        UNION ALL
        SELECT pool, '', '', 0, 0, [], [argMax((toFloat64(b.balance0), toFloat64(b.balance1)), (b.hour, b.version))], 0, 0
        FROM pool_balance_hours AS b
        WHERE network = {network:String}
          AND pool IN (SELECT pool FROM named WHERE length(pool) = 42)
          AND is_deleted = 0
        GROUP BY pool
        UNION ALL
        SELECT pool, '', '', 0, 0, [], [], argMax(c.spot_close, c.time), sum(toFloat64(c.volume_usd))
        FROM candles AS c FINAL
        WHERE network = {network:String}
          -- A pool whose creation is stored, and no liquidity after it, has not traded.
          AND (pool IN (SELECT pool FROM named WHERE initial_sqrt_price = 0) OR pool IN (SELECT pool FROM changes))
          AND resolution = 86400
          AND trades > 0
        GROUP BY pool
    ),
    pools_of_pair AS
    (
        SELECT
            pool,
            {usd:Array(Float64)}[indexOf({tokens:Array(String)}, max(f.token0))] AS usd0,
            {usd:Array(Float64)}[indexOf({tokens:Array(String)}, max(f.token1))] AS usd1,
            max(f.volume)                                                     AS volume,
            arrayFlatten(groupArray(f.positions))                             AS held,
            arrayFlatten(groupArray(f.balances))                              AS balance,
            sqrt(if(max(f.last_price) > 0, max(f.last_price) * max(f.scale), max(f.first_price))) AS root,
            arraySum(p -> p.3 * ((1 / least(greatest(root, p.1), p.2) - 1 / p.2) * usd0 + (least(greatest(root, p.1), p.2) - p.1) * usd1), held) AS held_usd,
            arraySum(p -> p.4 * ((1 / least(greatest(root, p.1), p.2) - 1 / p.2) * usd0 + (least(greatest(root, p.1), p.2) - p.1) * usd1), held) AS held_seconds,
            if(empty(balance), held_usd, balance[1].1 * usd0 + balance[1].2 * usd1) AS value_usd,
            greatest(held_seconds, 86400 * value_usd * notEmpty(balance))     AS seconds,
            notEmpty(held) OR notEmpty(balance) OR max(f.last_price) > 0      AS is_active
        FROM figures AS f
        GROUP BY pool
    )
SELECT
    groupArraySorted(120)((-value_usd, -volume, pool, is_active)) AS by_value,
    groupArraySortedIf(16)((-seconds, pool), is_active)      AS by_seconds,
    groupArraySortedIf(16)((-volume, pool), is_active)       AS by_volume,
    toFloat64(count())                                                        AS pools,
    toFloat64(countIf(value_usd >= {sound_usd:Float64}))                      AS sound
FROM pools_of_pair
