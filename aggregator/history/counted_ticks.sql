-- Count and digest of the ticks of a range of blocks, to compare with its coverage.
SELECT toString(count()) AS counted_ticks, toString(sum(tick_digest)) AS counted_digest
FROM ticks FINAL
WHERE network = {network:String} AND block BETWEEN {from:UInt64} AND {to:UInt64}
  AND (empty({pools:Array(String)}) OR pool IN {pools:Array(String)})
