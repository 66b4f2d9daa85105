/** Order of blocks, versions of rows, and digests. */
import { faultsIn } from '../plant.ts'

const LEDGER_SUITES = ['test/aggregator/ledger/ledger.int.test.ts']
const CHECK = ['test/aggregator/write/check-flush.test.ts']

export const LEDGER = [
  ...faultsIn('aggregator/ledger/rollback.ts', LEDGER_SUITES, [
    [
      'a rollback leaves the ticks of the first block that it takes back',
      'first: to.number + 1,',
      'first: to.number + 2,',
    ],
    [
      'a rollback does not recompute candles',
      'await recompute(client, network, scopeOf(pools), recomputeContext)',
      'void [recompute, scopeOf]',
    ],
    ['a rollback leaves positions', "of ['pools', 'liquidity_changes'] as const", "of ['pools'] as const"],
    [
      'a rollback leaves balances',
      'await run(client, restoreBalanceHours, ofTicks)',
      'void [run, restoreBalanceHours]',
    ],
  ]),
  ...faultsIn(
    'aggregator/ledger/ledger.ts',
    ['test/aggregator/ledger/place.test.ts', ...LEDGER_SUITES],
    [
      [
        'a block with another parent is appended',
        'tip.number === first - 1 && tip.hash === message.parentHash',
        'tip.number === first - 1',
      ],
      ['a final block may be replaced', 'placement.to.number >= known.irreversible', 'placement.to.number >= 0'],
      [
        'memory keeps a block that a rollback took away',
        'if (number > to.number) this.#recent.delete(number)',
        'if (number > to.number + 1) this.#recent.delete(number)',
      ],
      [
        'a stored block is stored again',
        "if ((await known.at(newest.number))?.hash === newest.hash) return { kind: 'known' }",
        '',
      ],
    ],
  ),
  ...faultsIn('aggregator/write/check-flush.ts', CHECK, [
    ['a flush may skip blocks', 'if (first !== parent.number + 1)', 'if (first <= parent.number)'],
    [
      'a flush may build on another branch',
      'if (message.parentHash !== parent.hash)',
      'if (message.parentHash === undefined)',
    ],
    ['logs of a block may repeat', 'if (logIndex <= before)', 'if (logIndex < before)'],
    [
      'a tick may be missing from the candles',
      'if (encoded === ticks && folded === ticks) return',
      'if (encoded === ticks) return',
    ],
    ['versions of a flush may fall', 'version <= flushed.version || ', ''],
    ['blocks of a message may leave its range', ' || block.number > tip.number', ''],
  ]),
  ...faultsIn(
    'aggregator/store/since.ts',
    ['test/aggregator/store/since.test.ts'],
    [
      ['rows of a slow insert are missed', 'const OVERLAP_MS = 10_000', 'const OVERLAP_MS = 0'],
      ['a row is returned twice', 'rows.filter((row) => !seen.has(JSON.stringify(row)))', 'rows.filter(() => true)'],
      ['too many rows are taken for all', ' || rows.length > maxRows) {', ') {'],
    ],
  ),
  ...faultsIn(
    'aggregator/store/digest.ts',
    ['test/aggregator/store/digest.test.ts'],
    [
      [
        'a digest does not have the prices',
        ' + 5n * roots)\n}\n\n/** The digest of all rows',
        ')\n}\n\n/** The digest of all rows',
      ],
      [
        'a digest of dollars does not depend on the place',
        'BigInt(tick.logIndex + 1) * tick.amountUsdMicros',
        'tick.amountUsdMicros',
      ],
    ],
  ),
  ...faultsIn(
    'aggregator/history/coverage.ts',
    ['test/aggregator/history/coverage.test.ts'],
    [
      ['a gap of one block is covered', 'if (range.from > next)', 'if (range.from > next + 1)'],
      [
        'blocks after the last range are covered',
        'if (next <= wanted.to) gaps.push({ from: next, to: wanted.to })',
        '',
      ],
    ],
  ),
  ...faultsIn(
    'aggregator/store/version.ts',
    ['test/aggregator/store/version.test.ts'],
    [
      [
        'a row of a job does not beat its tombstone',
        'return FINAL_HISTORY | (2n * BigInt(job) + 1n)',
        'return FINAL_HISTORY | (2n * BigInt(job))',
      ],
    ],
  ),
]
