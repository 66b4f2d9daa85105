-- A tick's part of the digest of its block: aggregator/store/digest.ts computes the same. Sums wrap at 2^64.
ALTER TABLE ticks ADD COLUMN IF NOT EXISTS tick_digest UInt64 ALIAS
    reinterpretAsUInt64(substring(transaction_hash, 1, 8)) + log_index * 0x9e3779b97f4a7c15
    + toUInt64(amount0) + 3 * toUInt64(amount1) + 5 * toUInt64(sqrt_price);
