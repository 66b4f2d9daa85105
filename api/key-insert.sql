-- A key, or its newest state: one version above the one that is stored, whatever the clock says.
INSERT INTO api_keys (key_hash, id, name, plan, billing_start, created, revoked, version)
SELECT
    unhex({hash:String}),
    {id:String},
    {name:String},
    {plan:String},
    toDateTime({billing_start:Nullable(UInt32)}, 'UTC'),
    toDateTime({created:UInt32}, 'UTC'),
    toDateTime({revoked:Nullable(UInt32)}, 'UTC'),
    greatest(
        toUInt64(toUnixTimestamp64Milli(now64(3))),
        (SELECT max(version) + 1 FROM api_keys WHERE key_hash = unhex({hash:String})))
