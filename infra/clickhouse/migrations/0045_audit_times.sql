-- When each of the undecided blocks was, in their order (0: not known), so that answers about that time can say so; and when blocks were last compared
-- with an answer of another voice (1970: never).
ALTER TABLE audits
    ADD COLUMN IF NOT EXISTS undecided_times Array(UInt32),
    ADD COLUMN IF NOT EXISTS compared_at DateTime('UTC') DEFAULT toDateTime(0, 'UTC');
