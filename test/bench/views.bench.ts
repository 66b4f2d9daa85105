/**
 * Candles built our way beside incremental materialized views of the ticks: how many ticks a second in large inserts, beside a bare insert
 * of the same; then how many one-minute candles are wrong after a live stream in which blocks come twice and reorgs replace others.
 * TICKS and BLOCKS (of the live stream) scale it; SEED chooses another stream.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import { aggregate } from '../../aggregator/aggregate.ts'
import { RowBinary } from '../../aggregator/store/row-binary.ts'
import { tickRow } from '../../aggregator/write/rows.ts'
import { openStore } from '../../infra/clickhouse/store.ts'
import { inProcessLog } from '../../infra/kafka/in-process.ts'
import type { BlockMessage, Message, RangeMessage } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { type Candles, foldedCandles, storedCandles } from '../aggregator/candles.ts'
import { randomOf } from '../simulation/random.ts'
import { createBareTable, timeOf } from './bare-insert.ts'
import { figure, title } from './figure.ts'
import { blockMessage, rangeMessage, type Shape } from './synthetic.ts'
import { createViews, insertViewed, VIEWS, type Views, viewedMinutes } from './views.ts'

const TICKS = Number(process.env['TICKS'] ?? 1_000_000)
const BLOCKS = Number(process.env['BLOCKS'] ?? 1_000)
const HISTORY: Shape = { network: 'ethereum', swapsPerBlock: 3, pools: 400, firstTime: 1_700_000_000 }
const LIVE: Shape = { network: 'base', swapsPerBlock: 20, pools: 40, firstTime: 1_750_000_000 }
const BLOCKS_A_RANGE = 2_000
const RANGES_AT_ONCE = 10
const TWICE = 0.05
const FORKS = 0.02
const MAX_DEPTH = 8

const { between, chance } = randomOf(Number(process.env['SEED'] ?? 1))

const folder = await mkdtemp(join(tmpdir(), 'candlepool-bench-'))
const store = await openStore({ store: { kind: 'embedded' } }, folder, () => {})
const client = store.owner
await createBareTable(client)
for (const views of Object.keys(VIEWS) as Views[]) await createViews(client, views)
await speed()
await correctness()
await store.close()
await rm(folder, { recursive: true, force: true })
process.exit()

/** All take turns with the same messages, which are made, and for the inserts encoded, outside of the time that counts. */
async function speed(): Promise<void> {
  const ours = startOurs(HISTORY.network)
  const contenders = {
    bare: 'bare insert of the same ticks (floor)',
    ours: 'ours: ticks, ledger, candles of four resolutions',
    parallel: 'four parallel views of the ticks',
    chained: 'four chained views',
  }
  const milliseconds = { bare: 0, ours: 0, parallel: 0, chained: 0 }
  let ticks = 0
  for (let from = 1; ticks < TICKS; from += BLOCKS_A_RANGE * RANGES_AT_ONCE) {
    const starts = Array.from({ length: RANGES_AT_ONCE }, (_, index) => from + index * BLOCKS_A_RANGE)
    const messages = starts.map((start) => rangeMessage(start, start + BLOCKS_A_RANGE - 1, HISTORY))
    const rows = encoded(messages)
    ticks += BLOCKS_A_RANGE * RANGES_AT_ONCE * HISTORY.swapsPerBlock
    milliseconds.bare += await timeOf(() => insertBytes('bare_ticks', rows))
    milliseconds.ours += await timeOf(() => ours.append(messages))
    milliseconds.parallel += await timeOf(() => insertBytes(VIEWS.parallel.source, rows))
    milliseconds.chained += await timeOf(() => insertBytes(VIEWS.chained.source, rows))
  }
  await ours.stop()
  title(`${ticks.toLocaleString('en')} ticks in large inserts`)
  const rate = (of: keyof typeof milliseconds) => (ticks / milliseconds[of]) * 1_000
  for (const [of, what] of Object.entries(contenders) as [keyof typeof contenders, string][]) {
    figure(what, rate(of), 'ticks/s', of === 'bare' ? undefined : rate('bare'))
  }
}

function encoded(messages: readonly RangeMessage[]): Buffer[] {
  const out = new RowBinary()
  for (const { blocks } of messages) {
    for (const block of blocks) {
      for (const tick of block.ticks) tickRow(out, { network: HISTORY.network, block, version: 1n }, tick)
    }
  }
  return out.chunks
}

async function insertBytes(table: string, rows: readonly Buffer[]): Promise<void> {
  const { stream } = await client.exec({
    query: `INSERT INTO ${table} FORMAT RowBinary`,
    values: Readable.from(rows),
    clickhouse_settings: { parallel_view_processing: 1 },
  })
  stream.resume()
}

function startOurs(network: NetworkName) {
  const log = inProcessLog<Message>({ nextOffset: 0 })
  const stopping = new AbortController()
  const aggregating = aggregate(client, {
    network,
    log,
    position: { generation: 0, offset: 0 },
    report: (fact) => fact.kind === 'store-failed' && console.error(fact),
    signal: stopping.signal,
  })
  return {
    append: log.append,
    async stop() {
      stopping.abort()
      await log.close()
      await aggregating
    },
  }
}

async function correctness(): Promise<void> {
  const ours = startOurs(LIVE.network)
  const views = Object.keys(VIEWS) as Views[]
  let sentTwice = 0
  let replaced = 0
  for (const { block, isTakenBack } of stream()) {
    if (isTakenBack) {
      replaced += 1
      // A view sees what is inserted: what is deleted, or replaced in a merge, stays in it.
      await insertViewed(client, 'netted', block, -1)
      continue
    }
    const times = chance(TWICE) ? 2 : 1
    sentTwice += times - 1
    for (let time = 0; time < times; time++) {
      await ours.append([block])
      for (const one of views) await insertViewed(client, one, block, 1)
    }
  }
  await ours.stop()
  const all = foldedCandles(Array.from({ length: BLOCKS }, (_, index) => blockMessage(index + 1, LIVE)))
  const right = minutesOf(all)
  title(
    `${BLOCKS.toLocaleString('en')} live blocks, ${sentTwice} sent twice, ${replaced} replaced: of ${Object.keys(right).length} one-minute candles`,
  )
  const { shown } = await storedCandles(client, LIVE.network)
  figure('wrong, missing or made up: ours', wrongIn(minutesOf(shown), right), 'candles')
  for (const one of views) {
    figure(
      `wrong, missing or made up: ${one} views`,
      wrongIn(await viewedMinutes(client, one, LIVE.network), right),
      'candles',
    )
  }
}

/** A chain as a follower of its head sees it: forks come first, are rolled back, and the chain continues from their parents. */
function* stream(): Generator<{ block: BlockMessage; isTakenBack: boolean }> {
  for (let number = 1; number <= BLOCKS; number++) {
    if (chance(FORKS) && number > 1) {
      const fork = forkAt(number, between(1, MAX_DEPTH))
      for (const block of fork) yield { block, isTakenBack: false }
      for (const block of fork) yield { block, isTakenBack: true }
    }
    yield { block: blockMessage(number, LIVE), isTakenBack: false }
  }
}

/** Blocks of the same numbers and times in which half of the swaps came about, in other places. */
function forkAt(number: number, depth: number): BlockMessage[] {
  const blocks: BlockMessage[] = []
  for (let place = number; place < number + depth; place++) {
    const block = blockMessage(place, LIVE)
    const { hash } = blockMessage(place + number * 10_000, LIVE)
    const ticks = block.ticks
      .filter((_, index) => index % 2 === 1)
      .map((tick, index) => ({ ...tick, logIndex: index * 3 }))
    blocks.push({ ...block, hash, parentHash: blocks.at(-1)?.hash ?? block.parentHash, ticks })
  }
  return blocks
}

function minutesOf(candles: Candles): Candles {
  return Object.fromEntries(Object.entries(candles).filter(([key]) => key.split(' ')[1] === '60'))
}

function wrongIn(found: Candles, right: Candles): number {
  const keys = new Set([...Object.keys(found), ...Object.keys(right)])
  return [...keys].filter((key) => !isDeepStrictEqual(found[key], right[key])).length
}
