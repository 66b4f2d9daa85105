-- Pools that a block below another one names.
SELECT DISTINCT pool
FROM pools FINAL
WHERE network = {network:String} AND pool IN {pools:Array(String)} AND block < {first:UInt64}
