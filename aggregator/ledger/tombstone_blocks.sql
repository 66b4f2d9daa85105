-- Tombstones for the live rows of blocks above a block, with their whole key; final history of jobs stays. Fails once a later writer epoch is
-- acquired (candles/writer-epoch.ts).
INSERT INTO blocks
SELECT * REPLACE ({version:UInt64} AS version, 1 AS is_deleted)
FROM blocks FINAL
WHERE network = {network:String} AND number > {block:Int64} AND blocks.version < {version:UInt64}
  AND throwIf((SELECT max(epoch) FROM owners WHERE network = {network:String}) > {epoch:UInt64}) = 0
