/** Questions that readers ask, and the answer that a state of the ledger gives to each. */
import type { Block } from '../simulation/block.ts'
import type { PoolContract } from '../simulation/market.ts'
import { TOKENS } from '../simulation/market.ts'
import type { Random } from '../simulation/random.ts'
import { type FoldTick, fillFolded, foldTicks } from '../support/fold.ts'
import type { LedgerHistory } from './ledger-history.ts'

export type Question =
  | { kind: 'candles'; pool: PoolContract; interval: number; from: number; to: number; fill: 'previous' | 'none' }
  | { kind: 'ticks'; pool: PoolContract; from: number; to: number }
  | { kind: 'pools'; pool: PoolContract }
  | { kind: 'health' }

const INTERVALS = [1, 5, 60, 420, 3_600, 86_400] as const
const MAX_CANDLES = 100
const MAX_TICKS = 1_000

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

export function pathOf(question: Question): string {
  if (question.kind === 'health') return '/v0/health'
  const pool = question.pool.id
  if (question.kind === 'pools') return `/v0/pools?pool=${pool}`
  const range = `pool=${pool}&from=${iso(question.from)}&to=${iso(question.to)}`
  if (question.kind === 'ticks') return `/v0/ticks?${range}&limit=${MAX_TICKS}`
  const { interval, fill } = question
  return `/v0/candles?${range}&interval=${interval}s&limit=${MAX_CANDLES}&fill=${fill}`
}

/** Parts of an answer that have to be exact, each for a state of its own: the price and the volume of a pool are read one after the other. */
export type Parts = Readonly<Record<string, unknown>>

export function partsOf(question: Question, body: unknown): Parts {
  if (question.kind === 'health') return { tip: tipIn(body) }
  const { data } = body as { data: Record<string, unknown>[] }
  if (question.kind === 'ticks') return { ticks: data.map(({ id, price }) => `${id} ${price}`) }
  if (question.kind === 'candles') return { candles: data }
  const [pool] = data
  return { price: pool?.['sqrtPrice'], volume: pool?.['volumeUSD'] }
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
  const pool = historyOfPool(history, tip, question.pool)
  if (part === 'price') return pool.ticks.at(-1)?.sqrtPrice ?? pool.initial
  if (part === 'volume') return pool.isSeen ? amountText(pool.usdMicros, 6).replace(/\.?0+$/, '') : undefined
  if (question.kind === 'pools') throw new Error(`A pool has no ${part}.`)
  const { from, to } = question
  const isWithin = (time: string) => seconds(time) >= from && seconds(time) < to
  if (question.kind === 'ticks') {
    return pool.ticks.filter(({ timestamp }) => isWithin(timestamp)).map(({ id, price }) => `${id} ${price}`)
  }
  const folded = foldTicks(pool.ticks, question.interval)
  const until = Math.min(filledTo, to - 1)
  const candles = question.fill === 'none' ? folded : fillFolded(folded, question.interval, until)
  return candles.filter(({ time }) => isWithin(time))
}

/** Two questions about one subject: what a reader saw of it must not be older the next time. */
export function subjectOf(question: Question): string {
  if (question.kind === 'health') return 'health'
  const { kind, pool } = question
  return kind === 'candles' ? `${kind} ${pool.id} ${question.interval}` : `${kind} ${pool.id}`
}

type PoolTick = FoldTick & { id: string; sqrtPrice: string }
type PoolHistory = { isSeen: boolean; ticks: PoolTick[]; usdMicros: bigint; initial: string | undefined }

const known = new WeakMap<Block, Map<string, PoolHistory>>()

/** Everything of a pool from the first stored block to `tip`. */
function historyOfPool(history: LedgerHistory, tip: Block, pool: PoolContract): PoolHistory {
  const byPool = known.get(tip) ?? new Map<string, PoolHistory>()
  known.set(tip, byPool)
  const found = byPool.get(pool.id)
  if (found) return found
  const blocks: Block[] = []
  for (let at: Block | undefined = tip; at && at.number >= history.first; at = at.parent) blocks.push(at)
  const made: PoolHistory = { isSeen: false, ticks: [], usdMicros: 0n, initial: undefined }
  const decimals = TOKENS[pool.currency1]?.decimals ?? 18
  for (const { hash, timestamp } of blocks.reverse()) {
    const content = history.contentOf(hash)
    const sighting = content?.pools.find(({ id }) => id === pool.id)
    if (sighting) {
      made.isSeen = true
      made.initial ??= String(sighting.initialSqrtPriceX96)
    }
    for (const tick of content?.ticks ?? []) {
      if (tick.pool !== pool.id) continue
      made.usdMicros += tick.amountUsdMicros
      made.ticks.push({
        id: `${tick.transactionHash}-${tick.logIndex}`,
        timestamp: iso(timestamp),
        price: tick.price,
        amount1: amountText(tick.amount1, decimals),
        sqrtPrice: String(tick.sqrtPriceX96),
      })
    }
  }
  byPool.set(pool.id, made)
  return made
}

function tipIn(body: unknown): unknown {
  const { networks } = body as { networks: { tip: { hash: string } | null }[] }
  return networks[0]?.tip?.hash
}

function amountText(raw: bigint, decimals: number): string {
  const digits = (raw < 0n ? -raw : raw).toString().padStart(decimals + 1, '0')
  return `${raw < 0n ? '-' : ''}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

const seconds = (time: string) => Date.parse(time) / 1_000

function iso(time: number): string {
  return new Date(time * 1_000).toISOString().replace('.000Z', 'Z')
}
