-- Where a network's ledger stands. The newest rows may be tombstones, so the newest stretch is read with FINAL;
-- a rollback never goes as deep as the stretch is long.
WITH (SELECT number FROM blocks WHERE network = {network:String} ORDER BY number DESC LIMIT 1) AS newest
SELECT
    toString(number)     AS number,
    lower(hex(hash))     AS hash,
    toUnixTimestamp(time) AS time
FROM blocks FINAL
WHERE network = {network:String}
  AND blocks.number > if(newest > 50000, newest - 50000, 0)
ORDER BY blocks.number DESC
LIMIT 1
