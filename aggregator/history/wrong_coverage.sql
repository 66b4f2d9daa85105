-- Counts of the ticks of a range of blocks, to compare with those of its coverage.
SELECT
    toString(count()) AS counted_ticks,
    -- As in aggregator/store/digest.ts.
    toString(sum(reinterpretAsUInt64(substring(transaction_hash, 1, 8)) + log_index * 0x9e3779b97f4a7c15
      + toUInt64(amount0) + 3 * toUInt64(amount1) + 5 * toUInt64(sqrt_price))) AS counted_digest
FROM ticks FINAL
WHERE network = {network:String} AND block BETWEEN {from:UInt64} AND {to:UInt64}
  AND (empty({pools:Array(String)}) OR pool IN {pools:Array(String)})
