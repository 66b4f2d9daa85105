-- The keys that were changed lately are found without reading all others. The top bit of a version marks a revocation.
ALTER TABLE api_keys ADD INDEX IF NOT EXISTS by_change bitAnd(version, 0x7fffffffffffffff) TYPE minmax GRANULARITY 1;
ALTER TABLE api_keys MATERIALIZE INDEX by_change;
