-- Parts of less than 5 MB count as if they had 5 MB, so three blocks of a live chain rewrote all ticks of some minutes, and four all changes of the hour.
ALTER TABLE ticks MODIFY SETTING merge_selector_base = 5;
ALTER TABLE changes MODIFY SETTING merge_selector_base = 20;
ALTER TABLE blocks MODIFY SETTING merge_selector_base = 10;
