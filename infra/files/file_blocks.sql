-- The headers of one file in a range, in the order of the file, and each one that no such file may have, with what is wrong about it.
SELECT
    toFloat64(block_number),
    toFloat64(timestamp),
    block_hash,
    parent_hash,
    logs_bloom,
    multiIf(
        chain_id != {chain_id:UInt64}, concat('is of chain ', toString(chain_id)),
        block_number NOT BETWEEN {first:UInt64} AND {last:UInt64}, 'is not of the blocks in the name of the file',
        length(block_hash) != 32 OR length(parent_hash) != 32, 'has a hash of another length',
        length(logs_bloom) != 256, 'has a bloom of another length',
        '') AS fault
FROM file
WHERE fault != '' OR block_number BETWEEN {from:UInt64} AND {to:UInt64}
