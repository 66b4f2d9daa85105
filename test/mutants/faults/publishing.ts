/** Publications of ticks, pools and candles: none is omitted, and what goes is retracted. */
import { faultsIn } from '../plant.ts'

const FOLDED = ['test/aggregator/extras/publish/publisher.int.test.ts']
const PUBLISHED = [...FOLDED, 'test/aggregator/extras/publish/after-failure.int.test.ts']

export const PUBLISHING = [
  ...faultsIn('aggregator/extras/publish/publisher.ts', PUBLISHED, [
    [
      'the cursor moves where nothing was acknowledged',
      'await this.#emitter.emit({ inserted: ticks, pools, buckets, at: last.timestamp })',
      'await this.#emitter.emit({ inserted: ticks, pools, buckets, at: last.timestamp }).catch(() => undefined)',
    ],
    [
      'a rollback retracts no ticks',
      'await this.#emitter.emit({ retracted, removedFrom',
      'await this.#emitter.emit({ removedFrom',
    ],
    [
      'a rollback leaves the ticks of its first block published',
      'const first = isWhole ? to.number + 1 : Math.max(to.number + 1,',
      'const first = isWhole ? to.number + 1 : Math.max(to.number + 2,',
    ],
    ['a rollback leaves pools published', 'removedFrom: to.number + 1, removed, at', 'at'],
    ['a fork is published from memory', 'this.#recent.dropAbove(to.number)', ''],
    ['a rollback leaves the cursor above it', 'if (this.#state.cursor.number > to.number) this.#state.cursor = to', ''],
    [
      'what a job changes is not published',
      'await this.#publishDifference(change, sightingsIn(run.flatMap(({ blocks }) => blocks)))',
      'void sightingsIn',
    ],
    ['what a job retracts is not published', 'retracted: retracted.toReversed(), inserted', 'inserted'],
    [
      'candles that a job recomputes are not published',
      'await this.#emitter.emit({ buckets, at: cursor.timestamp })',
      'void buckets',
    ],
    [
      'ticks of pools that are named late stay withheld',
      'await this.#emitter.emit(await latePoolChanges(',
      'void (await latePoolChanges(',
    ],
    [
      'blocks are published before they are final',
      "finality === 'final' ? Math.min(this.#recorded, ledger.finalized) : this.#recorded",
      'finality ? this.#recorded : ledger.finalized',
    ],
    [
      'a start publishes from the tip',
      'const cursor = stored ?? ledger.tip ?? BEFORE_ALL',
      'const cursor = ledger.tip ?? stored ?? BEFORE_ALL',
    ],
    [
      'the first start stores no cursor',
      'if (!stored) await writeCursor(client, network, cursor, versions.next())',
      'void writeCursor',
    ],
    [
      'a start forgets what a crash has published',
      'if (!stored) return ledger.tip?.number ?? -1',
      'return ledger.tip?.number ?? -1',
    ],
  ]),
  ...faultsIn('aggregator/extras/publish/publish-batch.ts', PUBLISHED, [
    ['a flush in memory may skip blocks', 'flush?.first !== cursor + 1 ||', '!flush ||'],
    ['a batch from memory names no pools', 'pools: sightingsIn(flush.blocks.map(({ block }) => block)),', 'pools: [],'],
    ['a batch from the tables begins one block late', 'first: after + 1, last', 'first: after + 2, last'],
  ]),
  ...faultsIn('aggregator/extras/publish/tick-difference.ts', PUBLISHED, [
    ['ticks of later jobs are retracted', 'old.version > version || ', ''],
    ['ticks that a dead process took back stay published', 'taken.length === 0 ? live :', 'taken.length >= 0 ? live :'],
    ['rows of a job above the cursor stay published', ' || version >= FINAL_HISTORY', ''],
    ['a tick with another amount is the same', 'FIELDS.every((field) =>', "['logIndex' as const].every((field) =>"],
    ['a tick with another time is the same', 'one.block.timestamp === other.block.timestamp && ', ''],
  ]),
  ...faultsIn('aggregator/extras/publish/candle-feed.ts', FOLDED, [
    [
      'a final candle is published before it is closed',
      'return start + resolution <= second',
      'return start <= second',
    ],
    [
      'candles that were open at a start are never published',
      '(await readBucketsAt(client, network, at)).map(',
      '[].map(',
    ],
    ['a closed candle that is recomputed is not published', 'if (isClosed(bucket, second)) return true', ''],
  ]),
  ...faultsIn('aggregator/extras/publish/emitter.ts', PUBLISHED, [
    ['a retraction has the version of the insert before it', 'const version = versions.next()', 'const version = 1n'],
    [
      'a pool that an older block names is gone with a fork',
      'const keptIds = new Set(kept.map(({ pool }) => pool))',
      'const keptIds = new Set(kept.map(() => ""))',
    ],
    [
      'a tick is never final',
      'isFinal || one.block.number <= ledger.finalized',
      'isFinal && one.block.number <= ledger.finalized',
    ],
  ]),
]
