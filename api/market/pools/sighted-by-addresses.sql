-- The sightings of a network's pools between two sets of tokens, where addresses name both sets: top-pools.sql follows.
WITH
    sighted AS
    (
        SELECT pool, token, other_token, initial_sqrt_price, token0_decimals, token1_decimals
        -- Without FINAL: a pool that a rollback removed is not found by its id.
        FROM pools_by_token
        WHERE network = {network:String}
          AND token IN {ones:Array(String)}
          AND ({any_other:Bool} OR other_token IN {others:Array(String)})
          AND (NOT {only_v3:Bool} OR length(pool) = 42)
    )
