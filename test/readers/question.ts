/** Questions that readers ask, and the answer that a state of the ledger gives to each. */
import type { Block } from '../simulation/block.ts'
import type { PoolContract } from '../simulation/market.ts'
import { TOKENS } from '../simulation/market.ts'
import type { Random } from '../simulation/random.ts'
import { type FoldCandle, type FoldTick, fillFolded, foldTicks } from '../support/fold.ts'
import type { LedgerHistory } from './ledger-history.ts'

/** `newest`: of a stream, which has no end: it keeps so many rows. */
type Rows = { pool: PoolContract; from: number; to: number; newest?: number | undefined }

export type Question =
  | ({ kind: 'candles'; interval: number; fill: 'previous' | 'none' } & Rows)
  | ({ kind: 'ticks' } & Rows)
  | { kind: 'pools'; pool: PoolContract }
  | { kind: 'health' }

const INTERVALS = [1, 5, 60, 420, 3_600, 86_400] as const
const MAX_CANDLES = 100
const MAX_TICKS = 1_000
const DAY = 86_400

/** Near the head, where answers change, and as often behind it by no more than a fork takes back: rows of ranges that are over are kept. */
export function anyQuestion(random: Random, pools: readonly [PoolContract, ...PoolContract[]], head: Block): Question {
  const chosen = random.next()
  const pool = random.pick(pools)
  if (chosen < 0.06) return { kind: 'health' }
  if (chosen < 0.2) return { kind: 'pools', pool }
  const to = head.timestamp + 1 + random.pick([0, 30, 3_600, -20, -100, -300, -600])
  if (chosen < 0.5) return { kind: 'ticks', pool, from: to - random.pick([60, 600, 1_800]), to }
  const interval = random.pick(INTERVALS)
  const from = to - interval * random.pick([MAX_CANDLES, 20, 5])
  return { kind: 'candles', pool, interval, from, to, fill: random.pick(['previous', 'none']) }
}

/** A random query of a stream. `from`: before everything that the chain has. */
export function anyStream(
  random: Random,
  pools: readonly [PoolContract, ...PoolContract[]],
  from: number,
): Question & { pool: PoolContract; newest: number } {
  const rows = { pool: random.pick(pools), from, to: Number.POSITIVE_INFINITY, newest: random.pick([5, 20, 100]) }
  if (random.chance(0.4)) return { kind: 'ticks', ...rows }
  return { kind: 'candles', interval: random.pick(INTERVALS), fill: random.pick(['previous', 'none']), ...rows }
}

export function pathOf(question: Question): string {
  if (question.kind === 'health') return '/v0/health'
  const pool = question.pool.id
  if (question.kind === 'pools') return `/v0/pools?pool=${pool}`
  const { from, to, newest } = question
  const range = `pool=${pool}&from=${iso(from)}${newest === undefined ? `&to=${iso(to)}` : ''}`
  if (question.kind === 'ticks') return `/v0/ticks?${range}&limit=${newest ?? MAX_TICKS}&include=position`
  const { interval, fill } = question
  return `/v0/candles?${range}&interval=${interval}s&limit=${newest ?? MAX_CANDLES}&fill=${fill}`
}

/** Parts of an answer that have to be exact, each for a state of its own: price, volume and count of a pool are read one after the other. */
export type Parts = Readonly<Record<string, unknown>>

export function partsOf(question: Question, body: unknown): Parts {
  if (question.kind === 'health') return { tip: tipIn(body) }
  const { data } = body as { data: Record<string, unknown>[] }
  if (question.kind === 'ticks') return { ticks: data.map(({ id, price }) => `${id} ${price}`) }
  if (question.kind === 'candles') return { candles: data }
  const [pool] = data
  return { price: pool?.['sqrtPrice'], volume: pool?.['volumeUSD'], transactions: pool?.['txCount'] }
}

/** The same parts of an answer that is exact for the chain up to `tip`; a chart may be filled to another tip. */
export function expectedPart(
  question: Question,
  part: string,
  tip: Block,
  history: LedgerHistory,
  filledTo = tip.timestamp,
): unknown {
  if (question.kind === 'health') return tip.hash
  const pool = poolAt(history, tip, question.pool)
  if (part === 'price') return pool.ticks.at(-1)?.sqrtPrice ?? pool.initial
  if (part === 'volume' || part === 'transactions') {
    return pool.isSeen ? sumText(part, sum(pool[part].values())) : undefined
  }
  if (question.kind === 'pools') throw new Error(`A pool has no ${part}.`)
  const { from, to, newest = Number.POSITIVE_INFINITY } = question
  const isWithin = (time: string) => seconds(time) >= from && seconds(time) < to
  if (question.kind === 'ticks') {
    const ticks = ticksFrom(pool, from).filter(({ timestamp }) => isWithin(timestamp))
    return ticks.map(({ id, price }) => `${id} ${price}`).slice(-newest)
  }
  const { interval } = question
  // Each bucket up to the tip has a row.
  const isFilled = question.fill === 'previous'
  const oldest = isFilled ? Math.max(from, tip.timestamp - interval * (newest - 1)) : from
  const start = oldest - (oldest % interval)
  const folded = foldTicks(ticksFrom(pool, start), interval)
  if (!isFilled) return folded.filter(({ time }) => isWithin(time)).slice(-newest)
  const last = lastBelow(pool, start)
  // What came before the range is the close that its empty candles repeat.
  const before = last ? [{ ...foldTicks([last], interval)[0], time: iso(start - interval) } as FoldCandle] : []
  const until = question.newest === undefined ? Math.min(filledTo, to - 1) : tip.timestamp
  const isShown = (time: string) => isWithin(time) && seconds(time) >= start
  return fillFolded([...before, ...folded], interval, until).filter(({ time }) => isShown(time))
}

/** Parts of `/v0/pools` that are sums of terms, each of which is read by itself. */
export type SumPart = 'volume' | 'transactions'

/** Volume of each day, in millionths of a dollar; or swaps of each day, and all changes of liquidity. */
export type Terms = ReadonlyMap<number | 'liquidity', bigint>

export function termsOf(part: SumPart, pool: PoolContract, tip: Block, history: LedgerHistory): Terms {
  return poolAt(history, tip, pool)[part]
}

/** As an answer has it. */
export function sumText(part: SumPart, total: bigint): string {
  return part === 'volume' ? amountText(total, 6).replace(/\.?0+$/, '') : String(total)
}

/** Two questions about one subject: what a reader saw of it must not be older the next time. */
export function subjectOf(question: Question): string {
  if (question.kind === 'health') return 'health'
  const { kind, pool } = question
  return kind === 'candles' ? `${kind} ${pool.id} ${question.interval}` : `${kind} ${pool.id}`
}

type PoolTick = FoldTick & { id: string; sqrtPrice: string }

/** A pool after a block that speaks of it. */
type PoolState = {
  before: PoolState | undefined
  /** Swaps of this block, or of the newest one below that has any. */
  ticks: readonly PoolTick[]
  /** Seconds since 1970 of `ticks`. */
  second: number
  isSeen: boolean
  volume: Terms
  transactions: Terms
  initial: string | undefined
}

const NOTHING: PoolState = {
  before: undefined,
  ticks: [],
  second: Number.NEGATIVE_INFINITY,
  isSeen: false,
  volume: new Map(),
  transactions: new Map(),
  initial: undefined,
}
const known = new WeakMap<Block, Map<string, PoolState>>()

/** A pool after everything from the first stored block to `tip`. */
function poolAt(history: LedgerHistory, tip: Block, pool: PoolContract): PoolState {
  const above: Block[] = []
  let state = NOTHING
  for (let at: Block | undefined = tip; at && at.number >= history.first; at = at.parent) {
    const found = known.get(at)?.get(pool.id)
    if (found) {
      state = found
      break
    }
    above.push(at)
  }
  for (const block of above.reverse()) {
    state = poolAfter(state, history, block, pool)
    const byPool = known.get(block) ?? new Map<string, PoolState>()
    known.set(block, byPool.set(pool.id, state))
  }
  return state
}

function poolAfter(
  before: PoolState,
  history: LedgerHistory,
  { hash, timestamp }: Block,
  pool: PoolContract,
): PoolState {
  const content = history.contentOf(hash)
  const sighting = content?.pools.find(({ id }) => id === pool.id)
  const ticks = content?.ticks.filter((tick) => tick.pool === pool.id) ?? []
  const changes = content?.liquidity.filter((change) => change.pool === pool.id).length ?? 0
  if (!sighting && ticks.length === 0 && changes === 0) return before
  const day = Math.floor(timestamp / DAY)
  const decimals = TOKENS[pool.currency1]?.decimals ?? 18
  return {
    before: ticks.length === 0 ? before.before : before,
    ticks:
      ticks.length === 0
        ? before.ticks
        : ticks.map((tick) => ({
            id: `${tick.transactionHash}-${tick.logIndex}`,
            timestamp: iso(timestamp),
            price: tick.price,
            amount1: amountText(tick.amount1, decimals),
            sqrtPrice: String(tick.sqrtPriceX96),
          })),
    second: ticks.length === 0 ? before.second : timestamp,
    isSeen: before.isSeen || sighting !== undefined,
    volume: plus(before.volume, day, sum(ticks.map(({ amountUsdMicros }) => amountUsdMicros))),
    transactions: plus(plus(before.transactions, day, BigInt(ticks.length)), 'liquidity', BigInt(changes)),
    initial: before.initial ?? (sighting && String(sighting.initialSqrtPriceX96)),
  }
}

function plus(terms: Terms, term: number | 'liquidity', more: bigint): Terms {
  return more === 0n ? terms : new Map([...terms, [term, (terms.get(term) ?? 0n) + more]])
}

/** Swaps from a second on. */
function ticksFrom(pool: PoolState, from: number): PoolTick[] {
  const found: (readonly PoolTick[])[] = []
  for (let at: PoolState | undefined = pool; at && at.second >= from; at = at.before) found.push(at.ticks)
  return found.reverse().flat()
}

/** The newest swap before a second. */
function lastBelow(pool: PoolState, second: number): PoolTick | undefined {
  let at: PoolState | undefined = pool
  while (at && at.second >= second) at = at.before
  return at?.ticks.at(-1)
}

function tipIn(body: unknown): unknown {
  const { networks } = body as { networks: { tip: { hash: string } | null }[] }
  return networks[0]?.tip?.hash
}

function sum(values: Iterable<bigint>): bigint {
  let total = 0n
  for (const value of values) total += value
  return total
}

function amountText(raw: bigint, decimals: number): string {
  const digits = (raw < 0n ? -raw : raw).toString().padStart(decimals + 1, '0')
  return `${raw < 0n ? '-' : ''}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

const seconds = (time: string) => Date.parse(time) / 1_000

function iso(time: number): string {
  return new Date(time * 1_000).toISOString().replace('.000Z', 'Z')
}
