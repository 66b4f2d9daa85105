-- Pools by each of their tokens, then by the other one: a pair's pools are found, and valued, without a read of all. One row a token of each row
-- of `pools`.
CREATE TABLE IF NOT EXISTS pools_by_token
(
    network      LowCardinality(String),
    token        String,
    other_token  String,
    pool         String,
    block        UInt64,
    symbol       String,                          -- of `token`, as the row of `pools` has it
    venue        LowCardinality(String),
    initial_sqrt_price UInt256,
    token0_decimals    UInt8,                     -- of the lower address of the two
    token1_decimals    UInt8,
    version      UInt64,
    is_deleted   UInt8,
    written      DateTime64(3, 'UTC') DEFAULT now64(3),
    INDEX by_written written TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version, is_deleted)
ORDER BY (network, token, other_token, pool, block);

CREATE MATERIALIZED VIEW IF NOT EXISTS pools_to_tokens TO pools_by_token AS
SELECT
    network, side.1 AS token, side.3 AS other_token, pool, block, side.2 AS symbol, venue, initial_sqrt_price, token0_decimals, token1_decimals,
    version, is_deleted
FROM pools
ARRAY JOIN [(token0_address, token0_symbol, token1_address), (token1_address, token1_symbol, token0_address)] AS side;

-- Tokens by the symbols that they have or had, in lower case. Whether a token has one now, `token_names` tells.
CREATE TABLE IF NOT EXISTS tokens_by_symbol
(
    network LowCardinality(String),
    symbol  String,
    token   String
)
ENGINE = ReplacingMergeTree
ORDER BY (network, symbol, token);

CREATE MATERIALIZED VIEW IF NOT EXISTS pools_to_symbols TO tokens_by_symbol AS
SELECT DISTINCT network, lowerUTF8(side.2) AS symbol, side.1 AS token
FROM pools
ARRAY JOIN [(token0_address, token0_symbol), (token1_address, token1_symbol)] AS side;

CREATE MATERIALIZED VIEW IF NOT EXISTS names_to_symbols TO tokens_by_symbol AS
SELECT DISTINCT n.network AS network, lowerUTF8(arrayJoin(arrayPushFront(n.former, n.symbol))) AS symbol, n.token AS token
FROM token_names AS n;

-- The views are there by now: a row that is stored meanwhile is put in twice, and counts once.
INSERT INTO pools_by_token
    (network, token, other_token, pool, block, symbol, venue, initial_sqrt_price, token0_decimals, token1_decimals, version, is_deleted)
SELECT
    network, side.1, side.3, pool, block, side.2, venue, initial_sqrt_price, token0_decimals, token1_decimals, version, is_deleted
FROM pools
ARRAY JOIN [(token0_address, token0_symbol, token1_address), (token1_address, token1_symbol, token0_address)] AS side;

INSERT INTO tokens_by_symbol (network, symbol, token)
SELECT DISTINCT network, lowerUTF8(side.2), side.1
FROM pools
ARRAY JOIN [(token0_address, token0_symbol), (token1_address, token1_symbol)] AS side;

INSERT INTO tokens_by_symbol (network, symbol, token)
SELECT DISTINCT n.network, lowerUTF8(arrayJoin(arrayPushFront(n.former, n.symbol))), n.token
FROM token_names AS n;

ALTER TABLE token_names ADD INDEX IF NOT EXISTS by_written written TYPE minmax GRANULARITY 1;
