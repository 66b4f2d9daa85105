/** From ticks to candles. */
import { faultsIn } from '../plant.ts'

const CANDLE = ['test/aggregator/candles/candle.test.ts']
const OPEN = ['test/aggregator/candles/open-candles.test.ts']
const LAW = ['test/api/market/candles/fold.int.test.ts']

export const FOLD = [
  ...faultsIn('aggregator/candles/candle.ts', CANDLE, [
    ['the highest price is that of the later stretch', 'high: Math.max(earlier.high, later.high)', 'high: later.high'],
    ['the open is that of the later stretch', 'open: earlier.open,', 'open: later.open,'],
    ['a stretch without an executed swap sets the open', 'if (earlier.open === 0) return { ...later }', ''],
    [
      'bought volume is not added up',
      'buyVolume1: earlier.buyVolume1 + later.buyVolume1',
      'buyVolume1: later.buyVolume1',
    ],
    ['a sell is counted as a buy', 'buys: isBuy ? 1 : 0', 'buys: 1'],
    ['a bucket begins at the next multiple', 'Math.floor(timestamp / seconds)', 'Math.ceil(timestamp / seconds)'],
  ]),
  ...faultsIn('aggregator/candles/open-candles.ts', OPEN, [
    [
      'an open candle is replaced by its newest part',
      'if (open && open.start === out.arrays.start[from]) out.set(from, merge(open.candle, out.candleAt(from)))',
      'if (open) void merge',
    ],
    ['a bucket that may lack ticks is complete', 'own <= completeAfter || (before', '(before'],
    [
      'a pool that left memory is complete again',
      'this.#completeAfter = Math.max(this.#completeAfter, lastTick, completeAfter)',
      '',
    ],
    [
      'a job that changed a pool is not noticed',
      'completeAfter: Math.max(completeAfter, until, this.#aheadUntil)',
      'completeAfter',
    ],
    ['recomputed candles ahead of the stream are loaded', 'if (until <= this.#aheadUntil) return', ''],
    [
      'after a failure all buckets are complete',
      'this.#completeAfter = Math.max(this.#completeAfter, until)\n  }\n\n  /** The tables hold',
      '}\n\n  /** The tables hold',
    ],
  ]),
  ...faultsIn('api/market/model/inverse.ts', LAW, [
    ['the highest price of an inverse is that of the highest', 'high: 1 / row.low', 'high: 1 / row.high'],
  ]),
  ...faultsIn('api/market/model/orientation.ts', LAW, [
    ['buys of the inverse are buys', 'const buys = (forward ? bought : sold)', 'const buys = bought'],
    ['the bought part of the inverse is the bought one', 'forward ? buyVolume : volume - buyVolume', 'buyVolume'],
    [
      'an average price forgets the decimals',
      'ratioToNumber(quote * powerOfTen(baseDecimals), base * powerOfTen(quoteDecimals))',
      'ratioToNumber(quote * powerOfTen(baseDecimals), base * powerOfTen(baseDecimals))',
    ],
  ]),
  ...faultsIn('api/market/candles/usd-candles.sql', LAW, [
    ['a candle in dollars opens with its newest swap', '[argMin(ratio, place)', '[argMax(ratio, place)'],
    ['a candle in dollars has swaps of dust', 'AND abs(t.amount1) >= {least_units:UInt64}', 'AND abs(t.amount1) >= 0'],
  ]),
  ...faultsIn(
    'api/market/candles/fill-gaps.ts',
    ['test/api/market/candles/fill-gaps.test.ts'],
    [
      ['a gap is filled past what is stored', ' && next + interval <= completeTo', ''],
      ['a filled candle has the open of the one before', 'close = candle.close', 'close = candle.open'],
      ['the oldest rows are kept', 'return rows.slice(-limit)', 'return rows.slice(0, limit)'],
      [
        'a clock ahead of the ledger fills',
        'tip && isFresh(tip, now) ? Math.max(covered, now) : covered',
        'tip ? Math.max(covered, now) : covered',
      ],
    ],
  ),
  ...faultsIn(
    'api/market/model/windows.ts',
    ['test/api/market/model/windows.test.ts'],
    [
      ['an interval is read at the finest resolution', 'findLast((resolution)', 'find((resolution)'],
      [
        'whole days are read beyond the range',
        'Math.ceil(from / coarser) * coarser',
        'Math.floor(from / coarser) * coarser',
      ],
    ],
  ),
]
