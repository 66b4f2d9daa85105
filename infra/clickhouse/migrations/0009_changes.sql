-- The ledger's tip from which on the candles of a change are stored for sure; 0: they were before the change was told.
ALTER TABLE changes ADD COLUMN IF NOT EXISTS block UInt64;
