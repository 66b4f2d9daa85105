-- The exchange whose factory made the pool. Rows of versions that read Uniswap alone have the default.
ALTER TABLE pools ADD COLUMN IF NOT EXISTS venue LowCardinality(String) DEFAULT 'uniswap' AFTER is_deleted;

CREATE OR REPLACE VIEW market_pools AS
SELECT
    network,
    pool,
    argMax(protocol, block)                                                AS protocol,
    argMax(fee, block)                                                     AS fee,             -- hundredths of a bip; 8388608: dynamic
    concat(argMax(token0_symbol, block), '-', argMax(token1_symbol, block)) AS pair,
    argMax(token0_address, block)                                          AS token0,
    argMax(token0_symbol, block)                                           AS symbol0,
    argMax(token0_name, block)                                             AS name0,
    argMax(token0_decimals, block)                                         AS decimals0,
    argMax(token1_address, block)                                          AS token1,
    argMax(token1_symbol, block)                                           AS symbol1,
    argMax(token1_name, block)                                             AS name1,
    argMax(token1_decimals, block)                                         AS decimals1,
    min(pools.block)                                                       AS first_block,
    min(pools.time)                                                        AS first_seen,
    argMax(venue, block)                                                   AS venue
FROM pools FINAL
GROUP BY network, pool;
