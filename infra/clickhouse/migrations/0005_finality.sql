-- What was final is known after a restart: a chain that replaces it is not followed.

ALTER TABLE blocks
    ADD COLUMN IF NOT EXISTS finalized UInt64;    -- the newest block that was final when this one was read; 0: not known
