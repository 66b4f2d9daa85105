-- Gives blocks of the ledger the time that a job has read. The version stays, because reading resumes by it: of two rows that share one,
-- the later counts.
INSERT INTO blocks
SELECT * REPLACE (toDateTime({times:Array(UInt32)}[indexOf({numbers:Array(UInt64)}, number)], 'UTC') AS time)
FROM blocks FINAL
WHERE network = {network:String} AND number IN {numbers:Array(UInt64)}
  AND lower(hex(hash)) = {hashes:Array(String)}[indexOf({numbers:Array(UInt64)}, number)]
