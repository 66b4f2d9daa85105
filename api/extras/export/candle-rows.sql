-- Candles of a stored resolution, with prices of one kind. A bucket with only swaps of 0 for 0 has no execution price.
SELECT
    network, pool, time AS bucket,
    {price:String} = 'spot' ? spot_open  : open   AS first_price,
    {price:String} = 'spot' ? spot_high  : high   AS high_price,
    {price:String} = 'spot' ? spot_low   : low    AS low_price,
    {price:String} = 'spot' ? spot_close : close  AS last_price,
    volume0, volume1, volume_usd, bought0 AS buy_volume0, bought1 AS buy_volume1,
    -- A swap of 0 for 0 counts where it has a price.
    {price:String} = 'spot' ? c.unexecuted : 0    AS idle,
    toUInt64(c.trades - c.unexecuted + idle)      AS trades,
    toUInt64(c.buys - c.unexecuted + idle)        AS buys
FROM candles AS c FINAL
WHERE network = {network:String}
  AND ({pool:String} = '' OR pool = {pool:String})
  AND resolution = {interval:UInt32}
  AND time >= toDateTime({from:UInt32}, 'UTC')
  AND time < toDateTime({to:UInt32}, 'UTC')
  AND c.trades > 0
  AND first_price > 0
ORDER BY network, pool, resolution, time
