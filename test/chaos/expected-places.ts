/** Where the processes of the chaos suite are killed, each in its turn: every statement that an aggregator sends. */

const RECOMPUTE = [
  'candles_from_ticks 1',
  'candles_from_candles 60',
  'candles_from_candles 3600',
  'candles_from_candles 86400',
]
const CONTENTS = [
  'insert ticks',
  'insert pools',
  'insert liquidity_changes',
  'insert pool_balances',
  'insert pool_balance_hours',
]
const ROLLBACK = [
  'tombstone_blocks',
  'touched',
  'tombstone_rows ticks',
  'ask pools',
  'tombstone_rows pools',
  'ask liquidity_changes',
  'tombstone_rows liquidity_changes',
  'restore_balance_hours',
  ...RECOMPUTE,
]

const STEPS = {
  start: [
    'ask settled',
    'ask ticks',
    'ask pool_balance_hours',
    'ask owners',
    'insert owners',
    'ask retention',
    'ask coverage',
    'ask blocks',
    'newest_blocks',
    'block_window',
    'candles_above_tip',
    'candles_above_checkpoint',
    ...ROLLBACK,
    'insert changes',
  ],
  flush: [
    ...CONTENTS,
    'insert candles',
    ...RECOMPUTE,
    'open_candles',
    'pools_ahead',
    'insert changes',
    'insert blocks',
  ],
  settle: ['insert settled'],
  rollback: [...ROLLBACK, 'insert changes'],
  publish: [
    'ask published',
    'newest_covered',
    'insert published',
    'next_blocks',
    'stored_ticks',
    'block_hashes',
    'sighted_pools',
    'sighted_below',
    'stored_candles',
    'stored_pools',
  ],
  restate: [
    'is_touched',
    ...CONTENTS,
    'ask liquidity_changes',
    'tombstone_unstated liquidity_changes',
    'touched_between',
    'tombstone_unstated ticks',
    'older_times',
    ...RECOMPUTE,
    'insert candles',
    'open_candles',
    'pools_ahead',
    'insert changes',
    'insert coverage',
  ],
}

export const PLACES: readonly string[] = Object.entries(STEPS).flatMap(([step, statements]) =>
  statements.map((statement) => `${step}: ${statement}`),
)

/** Only a few stories come there: blocks older than the ledger's memory, and restated ones whose number had another time on a branch that was left. */
export const RARE_PLACES: readonly string[] = [
  ...['flush', 'rollback', 'restate'].flatMap((step) =>
    ['ask blocks', 'block_window', 'newest_blocks'].map((statement) => `${step}: ${statement}`),
  ),
  'publish: oldest_block',
  'publish: before the records',
  'publish: after the records',
  'restate: tombstone_mistimed_hours',
  'restate: retime_blocks',
]
