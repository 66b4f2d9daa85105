-- A price is stored as what it adds to the other columns of its row: see aggregator/price-estimate.ts.

ALTER TABLE ticks
    MODIFY COLUMN time CODEC(Delta, T64, ZSTD),
    MODIFY COLUMN block CODEC(Delta, T64, ZSTD),
    MODIFY COLUMN log_index CODEC(T64, ZSTD),
    MODIFY COLUMN transaction_hash CODEC(NONE),   -- nothing makes it smaller
    MODIFY COLUMN pool_tick CODEC(DoubleDelta, ZSTD);

-- `toFloat64` of more than 64 bits depends on the machine, so they are added up from 64 and 64. Nothing here gives a NaN, of which
-- there are many: where a size is 0, nothing is divided by it.
ALTER TABLE ticks
    ADD COLUMN IF NOT EXISTS scale           Float64 CODEC(ZSTD) AFTER fee,                   -- 10 ^ (decimals1 - decimals0)
    ADD COLUMN IF NOT EXISTS spot_price_ulps Int64 CODEC(T64, ZSTD) AFTER scale,              -- units in the last place from the estimate
    ADD COLUMN IF NOT EXISTS price_ulps      Int64 CODEC(T64, ZSTD) AFTER spot_price_ulps,
    ADD COLUMN IF NOT EXISTS root            Float64 ALIAS                                    -- sqrt_price / 2 ^ 96
        toFloat64(toUInt64(bitShiftRight(sqrt_price, 80))) / 65536
        + toFloat64(toUInt64(bitShiftRight(sqrt_price, 16))) / 1208925819614629174706176,
    ADD COLUMN IF NOT EXISTS size0           Float64 ALIAS                                    -- 128 bits of |amount0|
        toFloat64(toUInt64(bitShiftRight(abs(amount0), 64))) * 18446744073709551616 + toFloat64(toUInt64(abs(amount0))),
    ADD COLUMN IF NOT EXISTS size1           Float64 ALIAS
        toFloat64(toUInt64(bitShiftRight(abs(amount1), 64))) * 18446744073709551616 + toFloat64(toUInt64(abs(amount1))),
    -- For as long as the prices of older rows are there: the power of ten that lies between a price and its raw units.
    ADD COLUMN IF NOT EXISTS older_scale     Float64 ALIAS
        exp10(greatest(-255, least(255, ifNotFinite(round(log10(root * root / spot_price)), 0))));

-- Rows that were stored with their prices.
ALTER TABLE ticks
    UPDATE
        scale           = older_scale,
        spot_price_ulps = reinterpretAsInt64(spot_price) - reinterpretAsInt64(root * root / older_scale),
        price_ulps      = reinterpretAsInt64(price) - reinterpretAsInt64(if(least(size0, size1) < 10000, root * root, size1 / size0) / older_scale)
    WHERE scale = 0
    SETTINGS mutations_sync = 0;                  -- whoever migrates waits for it, without a limit

-- In one statement, so that the table has both prices at any time.
ALTER TABLE ticks
    DROP COLUMN IF EXISTS older_scale,
    DROP COLUMN IF EXISTS price,
    DROP COLUMN IF EXISTS spot_price,
    ADD COLUMN price      Float64 ALIAS                                                       -- execution, token1 per token0
        reinterpretAsFloat64(price_ulps + reinterpretAsInt64(if(least(size0, size1) < 10000, root * root, size1 / size0) / scale)),
    ADD COLUMN spot_price Float64 ALIAS reinterpretAsFloat64(spot_price_ulps + reinterpretAsInt64(root * root / scale));
