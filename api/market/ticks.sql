-- The newest swaps of a pool that end before `to`, newest first.
SELECT
    toUnixTimestamp(t.time)              AS time,
    lower(hex(t.transaction_hash))       AS transaction_hash,
    t.log_index                          AS log_index,
    toString(t.amount0)                  AS amount0,
    toString(t.amount1)                  AS amount1,
    t.price                              AS price,
    t.spot_price                         AS spot_price,
    toString(t.amount_usd)               AS amount_usd
FROM ticks AS t FINAL
WHERE network = {network:String}
  AND pool = {pool:String}
  AND t.time >= toDateTime({from:UInt32}, 'UTC')
  AND t.time < toDateTime({to:UInt32}, 'UTC')
ORDER BY t.time DESC, t.block DESC, t.log_index DESC
LIMIT {limit:UInt32}
