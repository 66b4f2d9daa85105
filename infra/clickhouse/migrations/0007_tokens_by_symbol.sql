-- Tokens by the symbols that they have or had, in lower case. Whether a token has one now, `token_names` tells.
CREATE TABLE IF NOT EXISTS tokens_by_symbol
(
    network    LowCardinality(String),
    symbol     String,
    is_renamed UInt8,                             -- 1: `token_names` has the token, with this symbol or a former one. Another row may say 0.
    token      String
)
ENGINE = ReplacingMergeTree
ORDER BY (network, symbol, is_renamed, token);

CREATE MATERIALIZED VIEW IF NOT EXISTS pools_to_symbols TO tokens_by_symbol AS
SELECT DISTINCT network, lowerUTF8(side.2) AS symbol, 0 AS is_renamed, side.1 AS token
FROM pools
ARRAY JOIN [(token0_address, token0_symbol), (token1_address, token1_symbol)] AS side;

CREATE MATERIALIZED VIEW IF NOT EXISTS names_to_symbols TO tokens_by_symbol AS
SELECT DISTINCT n.network AS network, lowerUTF8(arrayJoin(arrayPushFront(n.former, n.symbol))) AS symbol, 1 AS is_renamed, n.token AS token
FROM token_names AS n;
