-- Why a process does not read or store the network as it should, for the health that other processes answer; empty: nothing is wrong.
ALTER TABLE presences ADD COLUMN IF NOT EXISTS problem String;
