-- The first block that was not compared with an answer of another voice: a network with one endpoint reads its blocks again and proves some, which
-- is no comparison.
ALTER TABLE audits ADD COLUMN IF NOT EXISTS compared UInt64 DEFAULT next;
