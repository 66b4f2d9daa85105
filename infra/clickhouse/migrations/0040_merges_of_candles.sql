-- Parts of less than 5 MB count as if they had 5 MB, so each fourth block of a live chain rewrote up to 2.5 MB of candles. What history leaves in more parts than
-- a first question should open is merged afterwards: aggregator/maintenance/part-merges.ts.
ALTER TABLE candles MODIFY SETTING merge_selector_base = 6;
