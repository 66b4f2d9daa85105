-- Buries the live rows that some pools have in liquidity_changes above a block, with their whole key; what states final history stays.
INSERT INTO liquidity_changes
SELECT * REPLACE ({version:UInt64} AS version, 1 AS is_deleted)
FROM liquidity_changes FINAL
WHERE network = {network:String} AND pool IN {pools:Array(String)} AND block > {block:Int64} AND liquidity_changes.version < {version:UInt64}
