-- A key, or its newest state: one version above the stored one, independent of clocks. The top bit marks a revocation, so that
-- it beats every other state of the key, also one that was read before it and is stored after it.
INSERT INTO api_keys (key_hash, id, name, plan, billing_start, created, revoked, version)
SELECT
    unhex({hash:String}),
    {id:String},
    {name:String},
    {plan:String},
    toDateTime({billing_start:Nullable(UInt32)}, 'UTC'),
    toDateTime({created:UInt32}, 'UTC'),
    toDateTime({revoked:Nullable(UInt32)}, 'UTC'),
    bitOr(
        greatest(
            toUInt64(toUnixTimestamp64Milli(now64(3))),
            (SELECT max(bitAnd(version, 0x7fffffffffffffff)) + 1 FROM api_keys WHERE key_hash = unhex({hash:String}))),
        if(isNull({revoked:Nullable(UInt32)}), 0, 0x8000000000000000))
