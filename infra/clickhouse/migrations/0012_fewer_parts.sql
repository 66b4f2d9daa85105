-- A question reads from every part that there is, and each part costs it more than its rows do: they are merged sooner than by default (5).
ALTER TABLE ticks MODIFY SETTING merge_selector_base = 3;
ALTER TABLE candles MODIFY SETTING merge_selector_base = 3;
