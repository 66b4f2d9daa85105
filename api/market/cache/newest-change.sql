-- Where a network's sequence of writes stands.
SELECT toString(sequence) AS number
FROM changes
WHERE network = {network:String}
ORDER BY sequence DESC
LIMIT 1
