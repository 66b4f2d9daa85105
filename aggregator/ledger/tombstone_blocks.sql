-- Tombstones for the live rows of blocks above a block, with their whole key; final history of jobs stays.
INSERT INTO blocks
SELECT * REPLACE ({version:UInt64} AS version, 1 AS is_deleted)
FROM blocks FINAL
WHERE network = {network:String} AND number > {block:Int64} AND blocks.version < {version:UInt64}
