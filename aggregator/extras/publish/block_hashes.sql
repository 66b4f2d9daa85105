SELECT toFloat64(number) AS number, lower(hex(hash)) AS hash
FROM blocks FINAL
WHERE network = {network:String} AND number BETWEEN {first:UInt64} AND {last:UInt64}
