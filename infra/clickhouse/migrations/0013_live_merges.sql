-- Of several small parts beside a larger one, only the first was merged into it, so that every block that came rewrote the larger one. Now all of them are.
ALTER TABLE ticks MODIFY SETTING merge_selector_enable_heuristic_to_remove_small_parts_at_right = 0;
ALTER TABLE candles MODIFY SETTING merge_selector_enable_heuristic_to_remove_small_parts_at_right = 0;
ALTER TABLE blocks MODIFY SETTING merge_selector_enable_heuristic_to_remove_small_parts_at_right = 0;
ALTER TABLE changes MODIFY SETTING merge_selector_enable_heuristic_to_remove_small_parts_at_right = 0;
