-- Buries the live rows that some pools have in ticks above a block, with their whole key; what states final history stays.
INSERT INTO ticks
SELECT * REPLACE ({version:UInt64} AS version, 1 AS is_deleted)
FROM ticks FINAL
WHERE network = {network:String} AND pool IN {pools:Array(String)} AND block > {block:Int64} AND time >= toDateTime({since:UInt32}, 'UTC') AND ticks.version < {version:UInt64}
