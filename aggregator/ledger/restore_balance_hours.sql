-- Restores the balances of pools at a block, in the hours with a newer reading; an hour without an earlier reading gets a tombstone.
-- A start restores with the version of the first message after it, and that message may be a rollback that replaces these rows again: hence `<=`.
INSERT INTO pool_balance_hours
SELECT
    replaced.network, replaced.pool, replaced.hour,
    kept.newest, kept.balance0, kept.balance1, {version:UInt64} AS version, kept.found = 0 AS is_deleted
FROM
(
    SELECT network, pool, hour
    FROM pool_balance_hours FINAL
    WHERE network = {network:String} AND block > {block:Int64} AND hour >= toStartOfHour(toDateTime({since:UInt32}, 'UTC'))
      AND pool_balance_hours.version <= {version:UInt64}
) AS replaced
LEFT ANY JOIN
(
    SELECT
        pool, toStartOfHour(time) AS hour, max(block) AS newest,
        argMax(balance0, block) AS balance0, argMax(balance1, block) AS balance1, 1 AS found
    FROM pool_balances FINAL
    WHERE network = {network:String} AND block <= {block:Int64} AND time >= toStartOfHour(toDateTime({since:UInt32}, 'UTC'))
      AND (block, block_hash) IN
      (
          SELECT number, hash
          FROM blocks FINAL
          WHERE network = {network:String}
            AND number IN
            (
                SELECT block
                FROM pool_balances
                WHERE network = {network:String} AND time >= toStartOfHour(toDateTime({since:UInt32}, 'UTC'))
            )
      )
    GROUP BY pool, hour
) AS kept ON kept.pool = replaced.pool AND kept.hour = replaced.hour
