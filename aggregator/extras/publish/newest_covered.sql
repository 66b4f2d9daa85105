-- The newest block that a job has overwritten, or has begun to: above the tip, its rows may be stored before it is recorded as covered.
SELECT greatest(
    (SELECT toFloat64(max(last)) - (count() = 0) FROM coverage WHERE network = {network:String}),
    (
        SELECT toFloat64(max(block)) - (count() = 0)
        FROM ticks
        WHERE network = {network:String} AND block > {tip:Int64} AND time >= toDateTime({since:UInt32}, 'UTC')
          AND version >= {final:UInt64}
    )) AS last
