-- Without the rows that are being stored beyond the tip and beyond the ranges of backfills.
SELECT *, price, spot_price
FROM ticks FINAL
WHERE network = {network:String}
  AND ({pool:String} = '' OR pool = {pool:String})
  AND time >= toDateTime({from:UInt32}, 'UTC')
  AND time < toDateTime({to:UInt32}, 'UTC')
  AND (toUnixTimestamp(time) <= {tip:Int64}
       OR arrayExists((first, last) -> toUnixTimestamp(time) BETWEEN first AND last, {firsts:Array(UInt32)}, {lasts:Array(UInt32)}))
ORDER BY network, pool, time, block, log_index
