-- How many different values each column has was counted at every insert and merge, nearly a tenth of a merge's time. Every question goes by a key, and none asks for that.
ALTER TABLE ticks MODIFY SETTING auto_statistics_types = '';
ALTER TABLE candles MODIFY SETTING auto_statistics_types = '';
ALTER TABLE blocks MODIFY SETTING auto_statistics_types = '';
ALTER TABLE changes MODIFY SETTING auto_statistics_types = '';
ALTER TABLE pools MODIFY SETTING auto_statistics_types = '';
ALTER TABLE liquidity_changes MODIFY SETTING auto_statistics_types = '';
ALTER TABLE pool_balances MODIFY SETTING auto_statistics_types = '';
