/** Which pool answers, what is known to be stored, and what is kept in memory. */
import { faultsIn } from '../plant.ts'

const CACHE = ['test/api/market/cache/cache.int.test.ts']

export const MARKET = [
  ...faultsIn(
    'api/market/find/lead.ts',
    ['test/api/market/find/lead.test.ts'],
    [
      [
        'a pool of any price leads',
        'deviation <= Math.max(MAX_DEVIATION, nearest)',
        'deviation <= Math.max(MAX_DEVIATION, nearest) || true',
      ],
      [
        'volume counts beyond what a pool holds',
        'return dayUsdMicros < heldMicros ? dayUsdMicros : heldMicros',
        'return dayUsdMicros < heldMicros ? dayUsdMicros : dayUsdMicros',
      ],
      ['a pool of dust leads', 'return valueUsd >= SOUND_USD', 'return valueUsd >= 0'],
      [
        'a pool that did not trade leads',
        'preferring(preferring(agreeing, hasTraded), isSound)',
        'preferring(agreeing, isSound)',
      ],
      [
        'a pool whose hook takes leads',
        'all.some((one) => isWhole(one) && isSound(one)) ? all.filter(isWhole) : all',
        'all.some((one) => isWhole(one) && isSound(one)) ? all : all',
      ],
    ],
  ),
  ...faultsIn(
    'api/market/find/consensus.ts',
    ['test/api/market/find/consensus.test.ts'],
    [
      [
        'a price below the band is near',
        'worst = Math.max(worst, row.high / high - 1, low / row.low - 1)',
        'worst = Math.max(worst, row.high / high - 1)',
      ],
      [
        'a pool that is silent has no price',
        'last || quotes.before === undefined ? quotes.rows : [silent(quotes.before)]',
        'last || quotes.before === undefined ? quotes.rows : [silent(quotes.before)].slice(1)',
      ],
    ],
  ),
  ...faultsIn(
    'api/market/cache/coverage.ts',
    ['test/api/market/cache/coverage.test.ts'],
    [
      ['gaps of a pool end with its newest run', 'return all.slice(since + 1)', 'return all.slice(since + 2)'],
      [
        'nothing is missing before the first run',
        '{ from: Number.NEGATIVE_INFINITY, to: first.fromTime }',
        '{ from: first.fromTime, to: first.fromTime }',
      ],
      [
        'two runs of backfills complete a range',
        'backfilled.some(({ fromTime, toTime }) => fromTime <= from && to <= toTime)',
        'backfilled.some(({ fromTime, toTime }) => fromTime <= from || to <= toTime)',
      ],
      [
        'a gap that a trade ends is ahead of it',
        'gap.to > from && !(gap.from <= from && gap.to < to)',
        'gap.to > from',
      ],
    ],
  ),
  ...faultsIn(
    'api/market/cache/read-ahead.ts',
    ['test/api/market/cache/read-ahead.test.ts'],
    [
      ['nothing is read ahead of a walk back', 'return isBefore ? -1 : 1', 'return isBefore ? 0 : 1'],
      [
        'a walk is read ahead without end',
        'Math.min(MAX_AHEAD, 2 * Math.max(known.ahead, width))',
        '2 * Math.max(known.ahead, width)',
      ],
      ['a loaded machine reads ahead', 'if (!mayRead || (2', 'if ((2'],
    ],
  ),
  ...faultsIn(
    'api/lib/cached-value.ts',
    ['test/api/lib/cached-value.test.ts'],
    [
      [
        'a load that began before the call answers it',
        'if (running === undefined) return start()',
        'return running ?? start()',
      ],
      ['a value never expires', 'cached.since > oldest) {', 'cached.since > oldest - 1e9) {'],
    ],
  ),
  ...faultsIn(
    'api/lib/concurrency-limit.ts',
    ['test/api/lib/concurrency-limit.test.ts'],
    [
      [
        'a query that waits waits for ever',
        'const giveUp = () => {\n        queue.delete(go)\n        reject(refusal())',
        'const giveUp = () => {\n        void [go, reject]',
      ],
      [
        'a slot is lost with each failure',
        '} finally {\n      const [next]',
        '} catch (error) {\n      throw error\n    }\n    {\n      const [next]',
      ],
      ['the queue has no end', 'if (queue.size >= waiting) throw refusal()', ''],
    ],
  ),
  ...faultsIn(
    'api/lib/coalesced.ts',
    ['test/api/lib/coalesced.test.ts'],
    [['a failure is shared', 'if (results.peek(key) === result) results.delete(key)', 'void key']],
  ),
  ...faultsIn('api/market/cache/cache-refresh.ts', CACHE, [
    [
      'a candle that lost its trades stays in its chunk',
      'groupRows(bytes, { untraded: true })',
      'groupRows(bytes, { untraded: false })',
    ],
  ]),
]
