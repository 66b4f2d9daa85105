-- Buries the live rows that some pools have in pools above a block, with their whole key; what states final history stays.
INSERT INTO pools
SELECT * REPLACE ({version:UInt64} AS version, 1 AS is_deleted)
FROM pools FINAL
WHERE network = {network:String} AND pool IN {pools:Array(String)} AND block > {block:Int64} AND pools.version < {version:UInt64}
