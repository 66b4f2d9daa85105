-- The logs of one file that match the filter, in the order of the file, and each log that no such file may have, with what is wrong about it.
SELECT
    toFloat64(block_number),
    toFloat64(log_index),
    transaction_hash,
    address,
    topic0,
    topic1,
    topic2,
    topic3,
    if(length(data) > {max_data:UInt64}, '', data),
    multiIf(
        chain_id != {chain_id:UInt64}, concat('is of chain ', toString(chain_id)),
        block_number NOT BETWEEN {first:UInt64} AND {last:UInt64}, 'is not of the blocks in the name of the file',
        length(transaction_hash) != 32 OR length(address) != 20, 'has a transaction or an address of another length',
        arrayExists(topic -> length(topic) != 32, [topic0, topic1, topic2, topic3]), 'has a topic of another length',
        (topic0 IS NULL) > (topic1 IS NULL) OR (topic1 IS NULL) > (topic2 IS NULL) OR (topic2 IS NULL) > (topic3 IS NULL),
            'has a topic after one that is missing',
        log_index > 4294967295, 'has an index that no log has',
        length(data) > {max_data:UInt64}, 'has more data than a block takes',
        '') AS fault
FROM file
WHERE fault != ''
   OR (block_number BETWEEN {from:UInt64} AND {to:UInt64}
       AND topic0 IN arrayMap(topic -> unhex(substring(topic, 3)), {topics:Array(String)})
       AND (empty({addresses:Array(String)}) OR address IN arrayMap(it -> unhex(substring(it, 3)), {addresses:Array(String)})))
