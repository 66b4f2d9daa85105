-- A table with many parts of a middling size, where no history has been stored for a while; none while parts of that size are being merged.
SELECT
    table,
    partition_id AS partition
FROM system.parts
WHERE database = currentDatabase() AND table IN ('candles', 'ticks')
  AND (SELECT count() FROM system.merges WHERE database = currentDatabase() AND total_size_bytes_compressed >= {least:UInt64}) = 0
GROUP BY table, partition_id
HAVING countIf(active AND bytes_on_disk >= {least:UInt64} AND bytes_on_disk < {most:UInt64}) > {parts:UInt32}
   AND countIf(level = 0 AND rows >= {rows:UInt32} AND modification_time > now() - {quiet:UInt32}) = 0
ORDER BY table, partition
LIMIT 1
