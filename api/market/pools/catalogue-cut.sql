-- The id that so many rows of a network lie before, counted from after an id and to before another.
SELECT pool
FROM pools
WHERE network = {network:String}
  AND pool > {first:String}
  AND pool < {end:String}
ORDER BY network, pool
LIMIT 1 OFFSET {rows:UInt32}
