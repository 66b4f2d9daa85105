/** The judge of readers: it accepts each exact state in its time, and finds every kind of wrong answer. */
import { describe, expect, test } from 'vitest'
import type { BlockMessage } from '../../ingest/model/message.ts'
import type { LiquidityChange, Pool } from '../../ingest/model/pool.ts'
import { type Block, mine, mineHistory } from '../simulation/block.ts'
import { POOLS, type PoolContract } from '../simulation/market.ts'
import { randomOf } from '../simulation/random.ts'
import type { FoldCandle } from '../support/fold.ts'
import { type Answer, judge, type TipSeen } from './judge.ts'
import { historyOf } from './ledger-history.ts'
import { expectedPart, type Question } from './question.ts'
import { isFoldOfStoredBuckets } from './stored-buckets.ts'

const random = randomOf(1)
const [POOL] = POOLS as readonly [PoolContract]
const ROOT = mineHistory(random)

/** Ten blocks, then five more in place of the last three, each with a tick of the pool; a block a second is served, and stored at once. */
const TRUNK = grow(ROOT, 10)
const LEFT = TRUNK.slice(-3)
const STAYS = grow(TRUNK[6] as Block, 5)
const TOLD = [...TRUNK, ...STAYS]
const BLOCKS = new Map(TOLD.map((block) => [block.hash, block]))
const HISTORY = historyOf(TOLD.map(messageOf), BLOCKS)
const servedAt = (hash: string) => 1_000 * TOLD.findIndex((block) => block.hash === hash)
const TIPS: readonly TipSeen[] = TOLD.map(({ hash }) => ({
  asked: servedAt(hash) + 5,
  answered: servedAt(hash) + 10,
  hash,
}))

function grow(on: Block, count: number): Block[] {
  const blocks: Block[] = []
  for (let left = count; left > 0; left--) blocks.push(mine(blocks.at(-1) ?? on, random))
  return blocks
}

function messageOf({ number, hash, parentHash, timestamp }: Block): BlockMessage {
  const tick = {
    pool: POOL.id,
    logIndex: 1,
    transactionHash: hash,
    amount0: -5n,
    amount1: BigInt(number),
    sqrtPriceX96: BigInt(number),
    liquidity: 1n,
    poolTick: 0,
    fee: 500,
    price: number,
    spotPrice: number,
    amountUsdMicros: 1_000_000n,
  }
  const content = { ticks: [tick], pools: [], liquidity: [], balances: [] }
  return { kind: 'block', network: 'ethereum', finalized: 0, number, hash, parentHash, timestamp, ...content }
}

const iso = (second: number) => new Date(second * 1_000).toISOString().replace('.000Z', 'Z')
const [from, to] = [ROOT.timestamp, Math.max(...TOLD.map(({ timestamp }) => timestamp)) + 1]
const TICKS = { kind: 'ticks', pool: POOL, from, to } as const satisfies Question
const CANDLES = { kind: 'candles', pool: POOL, interval: 1, from, to, fill: 'previous' } as const satisfies Question

/** The answer of a service whose ledger ends with `tip`. */
function answerAt(tip: Block | undefined, asked: number, reader = 'one'): Answer {
  const ticks = tip ? (expectedPart(TICKS, 'ticks', tip, HISTORY) as string[]) : []
  const data = ticks.map((line) => ({ id: line.split(' ')[0], price: Number(line.split(' ')[1]) }))
  return { reader, question: TICKS, asked, answered: asked + 20, body: { data } }
}

function withTicks(answer: Answer, change: (ticks: unknown[]) => unknown[]): Answer {
  return { ...answer, body: { data: change((answer.body as { data: unknown[] }).data) } }
}

function poolAnswer(asked: number, row: { sqrtPrice: string; volumeUSD?: string; txCount?: string }): Answer {
  return { reader: 'one', question: { kind: 'pools', pool: POOL }, asked, answered: asked + 20, body: { data: [row] } }
}

const verdictOn = (...answers: Answer[]) =>
  judge(HISTORY, { answers, tips: TIPS, servedAt }).violations.map(({ kind }) => kind)

describe('the judge of readers', () => {
  test('knows the states of a fork', () => {
    expect(HISTORY.states.map(({ isRollback }) => isRollback).lastIndexOf(true)).toBe(TRUNK.length)
    expect(HISTORY.states.length).toBe(TOLD.length + 1)
  })

  test('accepts what was stored when it was asked for, or a second before', () => {
    expect(verdictOn(...TOLD.map((block) => answerAt(block, servedAt(block.hash) + 100)))).toEqual([])
    expect(verdictOn(...TOLD.map((block) => answerAt(block, servedAt(block.hash) + 1_000)))).toEqual([])
  })

  test('finds an answer that is older than that', () => {
    expect(verdictOn(answerAt(TRUNK[2], 4_500))).toEqual(['stale'])
  })

  test('accepts an empty answer until the first write is over, and none after it', () => {
    expect(verdictOn(answerAt(undefined, 5))).toEqual([])
    expect(verdictOn(answerAt(undefined, 500))).toEqual([])
    expect(verdictOn(answerAt(TRUNK[0], 100), answerAt(undefined, 500))).toEqual(['impossible'])
    expect(verdictOn(answerAt(undefined, 2_500))).toEqual(['impossible'])
  })

  test('finds an answer that nothing could know yet', () => {
    expect(verdictOn(answerAt(TRUNK[5], 4_500))).toEqual(['impossible'])
  })

  test('finds what is shown of a branch a second after it was left', () => {
    expect(verdictOn(answerAt(LEFT.at(-1), servedAt(STAYS[0]?.hash ?? '') + 900))).toEqual([])
    expect(verdictOn(answerAt(LEFT.at(-1), servedAt(STAYS[1]?.hash ?? '') + 500))).toEqual(['stale'])
  })

  test('finds a mixture of two branches a second after the rollback', () => {
    const torn = answerAt(STAYS[2], servedAt(STAYS[2]?.hash ?? '') + 100)
    const { data } = torn.body as { data: unknown[] }
    const lost = { ...torn, body: { data: data.slice(1) } }
    const more = {
      ...torn,
      body: { data: [...data, ...(answerAt(LEFT.at(-1), 0).body as { data: unknown[] }).data.slice(-1)] },
    }
    expect(verdictOn(lost)).toEqual(['impossible'])
    expect(verdictOn(more)).toEqual(['impossible'])
  })

  test('finds a reader that goes back, and no two readers of which one is ahead', () => {
    const ahead = answerAt(TRUNK[5], servedAt(TRUNK[5]?.hash ?? '') + 100)
    const behind = (reader: string) => answerAt(TRUNK[4], ahead.answered + 1, reader)
    expect(verdictOn(ahead, behind('one'))).toEqual(['back'])
    expect(verdictOn(ahead, behind('another'))).toEqual([])
  })

  test('holds the rows of a stream to the tip that it names, however late it is told, and the tip to the one before it', () => {
    const late = servedAt(TRUNK[9]?.hash ?? '') + 500
    const told = (rows: number, tip: number, at = late): Answer => {
      return { ...answerAt(TRUNK[rows], at), answered: at, tip: TRUNK[tip]?.hash ?? '0x' }
    }
    expect(verdictOn(told(5, 5), told(8, 8, late + 1))).toEqual([])
    expect(verdictOn(told(6, 5))).toEqual([])
    expect(verdictOn(told(4, 5))).toEqual(['stale'])
    expect(verdictOn(told(5, 5), told(4, 4, late + 1))).toEqual(['back'])
    expect(verdictOn({ ...told(5, 5), tip: '0x77' })).toEqual(['back'])
  })

  test.each([TICKS, CANDLES, { ...CANDLES, fill: 'none' } as const])(
    'knows the newest rows of a stream of %o as the end of all rows',
    (question) => {
      const part = question.kind
      const tip = TRUNK[9] as Block
      const all = expectedPart({ ...question, to: tip.timestamp + 1 }, part, tip, HISTORY) as unknown[]
      for (const newest of [1, 4, all.length, 1_000]) {
        const stream = { ...question, from: question.from - 86_400, to: Number.POSITIVE_INFINITY, newest }
        expect(expectedPart(stream, part, tip, HISTORY)).toEqual(all.slice(-newest))
      }
    },
  )

  test('accepts a flush and a rollback that were under way, by their rows, and counts them', () => {
    const judged = (...answers: Answer[]) => judge(HISTORY, { answers, tips: TIPS, servedAt })
    const forked = servedAt(STAYS[0]?.hash ?? '') - 400
    const before = answerAt(LEFT.at(-1), forked)
    const kept = answerAt(TRUNK[6], forked + 405)
    const partly = withTicks(before, (ticks) => [...ticks.slice(0, -3), ...ticks.slice(-1)])
    const again = answerAt(LEFT.at(-1), forked + 430)
    expect(judged({ ...partly, answered: forked + 410 }, kept, again)).toMatchObject({ underWay: 2, violations: [] })
    const lost = withTicks({ ...before, answered: forked + 410 }, (ticks) => ticks.slice(1))
    expect(verdictOn(lost)).toEqual(['impossible'])
    const served = servedAt(TRUNK[5]?.hash ?? '')
    const caughtUp = { ...answerAt(TRUNK[5], served - 100), answered: served + 300 }
    const inPart = withTicks(caughtUp, (ticks) => [...ticks.slice(0, -2), ...ticks.slice(-1)])
    expect(judged(inPart)).toMatchObject({ underWay: 1, violations: [] })
    expect(verdictOn(withTicks(caughtUp, (ticks) => [...ticks.slice(0, -4), ...ticks.slice(-3)]))).toEqual([
      'impossible',
    ])
  })

  test('accepts rows that a rollback has taken back, up to the tip of before the flush that it follows', () => {
    const question = CANDLES
    const [kept, tip] = [TRUNK[6], TRUNK[8]] as [Block, Block]
    const rows = expectedPart(question, 'candles', tip, HISTORY) as FoldCandle[]
    const isKept = ({ time }: FoldCandle) => Date.parse(time) / 1_000 <= kept.timestamp
    const close = rows.findLast(isKept)?.close as number
    const flat = { open: close, high: close, low: close, close, volume: 0 }
    const data = rows.map((row) => (isKept(row) ? row : { ...row, ...flat }))
    expect(data).not.toEqual(rows)
    const asked = servedAt(STAYS[0]?.hash ?? '') - 400
    const answer = (shown: unknown[]): Answer => ({
      reader: 'one',
      question,
      asked,
      answered: asked + 410,
      body: { data: shown },
    })
    expect(verdictOn(answer(data))).toEqual([])
    expect(verdictOn(answer(data.map((row) => ({ ...row, high: row.high + 1 }))))).toEqual(['impossible'])
    expect(verdictOn(answer(data.slice(1)))).toEqual(['impossible'])
  })

  test('accepts the rows below those that a rollback takes back from the newest rows of a stream, and no gap among them', () => {
    const answered = servedAt(STAYS[0]?.hash ?? '') + 10
    const tip = LEFT.at(-1)
    const { data } = answerAt(tip, 0).body as { data: unknown[] }
    const told = (newest: number, ...indexes: number[]): Answer => {
      const question: Question = { ...TICKS, from: TICKS.from - 86_400, to: Number.POSITIVE_INFINITY, newest }
      const body = { data: indexes.map((index) => data.at(index)) }
      return { reader: 'one', question, asked: answered, answered, body, tip: tip?.hash ?? '0x' }
    }
    // The last three are taken back, one after the other.
    expect(verdictOn(told(2, -3, -1))).toEqual([])
    expect(verdictOn(told(2, -1))).toEqual(['impossible'])
    expect(verdictOn(told(4, -6, -5, -4, -1))).toEqual([])
    expect(verdictOn(told(4, -7, -6, -4, -1))).toEqual(['impossible'])
  })

  test('accepts a candle of stored ones of which some are written, and no other candle', () => {
    const question: Question = { kind: 'candles', pool: POOL, interval: 5, from, to, fill: 'none' }
    const tip = TRUNK[6] as Block
    const seconds = expectedPart({ ...question, interval: 1 }, 'candles', tip, HISTORY) as FoldCandle[]
    const slotOf = ({ time }: FoldCandle) => Math.floor(Date.parse(time) / 5_000)
    const [one, other] = seconds.filter((row) => seconds.some((it) => it !== row && slotOf(it) === slotOf(row)))
    expect(one && other && slotOf(one) === slotOf(other)).toBe(true)
    const time = iso(slotOf(one as FoldCandle) * 5)
    const all = Array.from({ length: 7 }, (_, position) => position)
    const accepts = (row: object) => isFoldOfStoredBuckets(HISTORY, question, { ...(row as FoldCandle), time }, all)
    expect(accepts(other as FoldCandle)).toBe(true)
    expect(accepts({ ...other, high: 10_000 })).toBe(false)
    expect(accepts({ ...other, volume: (other?.volume ?? 0) * 2 })).toBe(false)
  })

  test('accepts the blocks inside a range while it is written, and a second after its end is stored only that', () => {
    const [above, last] = [TRUNK[3], TRUNK[9]] as [Block, Block]
    const blocks = TRUNK.slice(3).map(messageOf)
    const { number: to, hash, timestamp } = last
    const range = { kind: 'range', network: 'ethereum', from: above.number, to, hash, timestamp } as const
    const told = [...TRUNK.slice(0, 3).map(messageOf), { ...range, parentHash: above.parentHash, blocks }]
    const history = historyOf(told, BLOCKS)
    expect(history.states.map(({ tip }) => tip.hash)).toEqual(TRUNK.map((block) => block.hash))
    const stored = servedAt(hash) + 10
    const tips = [...TIPS.slice(0, 3), { asked: stored - 5, answered: stored, hash }]
    const verdictOf = (answer: Answer) => judge(history, { answers: [answer], tips, servedAt }).violations
    const price = (asked: number, sqrtPrice: number) => poolAnswer(asked, { sqrtPrice: String(sqrtPrice) })
    const inside = TRUNK[5]?.number ?? 0
    expect(verdictOf(price(stored, inside)).filter(({ part }) => part === 'price')).toEqual([])
    const [stale] = verdictOf(price(stored + 1_100, inside))
    expect(stale).toMatchObject({ kind: 'stale', part: 'price', matched: 5 })
    expect(stale?.difference).toContain(`log 1 of block ${inside} ${TRUNK[5]?.hash}, states 5`)
    const [made] = verdictOf(price(stored, 7))
    expect(made).toMatchObject({ kind: 'impossible' })
    expect(made?.difference).toContain('of no swap in the topic; rollbacks: none')
  })

  describe('of a pool whose sums are read term by term', () => {
    const midnight = 20_000 * 86_400
    const chain: Block[] = []
    for (const [index, block] of TRUNK.entries())
      chain.push({ ...block, parent: chain.at(-1) ?? ROOT, timestamp: midnight - 5 + index })
    const change: LiquidityChange = { pool: POOL.id, logIndex: 2, tickLower: -10, tickUpper: 10, liquidityDelta: 1n }
    const told = chain.map((block, index): BlockMessage => {
      const message = messageOf(block)
      const pools = index === 0 ? [{ id: POOL.id, initialSqrtPriceX96: 1n } as unknown as Pool] : []
      const ticks = message.ticks.map((tick) => ({ ...tick, amountUsdMicros: 1_000_000n << BigInt(index) }))
      return { ...message, pools, ticks, liquidity: index === 7 ? Array<LiquidityChange>(100).fill(change) : [] }
    })
    const history = historyOf(told, new Map(chain.map((block) => [block.hash, block])))
    const stored = servedAt(chain[9]?.hash ?? '') + 10
    const tips = [...TIPS.slice(0, 3), { asked: stored - 5, answered: stored, hash: chain[9]?.hash }]
    const atTip = { sqrtPrice: String(chain[9]?.number), volumeUSD: '1023', txCount: '110' }
    const kindsOf = (row: Partial<typeof atTip>) =>
      judge(history, { answers: [poolAnswer(stored, { ...atTip, ...row })], tips, servedAt }).violations.map(
        ({ kind }) => kind,
      )

    test('accepts a volume whose days are of both sides of a write that was under way, and no other sum', () => {
      const kinds = (volumeUSD: number) => kindsOf({ volumeUSD: String(volumeUSD) })
      const [before, after] = [1 + 2 + 4, [8 + 16, 32 + 64 + 128 + 256 + 512]] as const
      expect(kinds(before + after[0] + after[1])).toEqual([])
      expect(kinds(before + after[1])).toEqual([])
      expect(kinds(before + after[1] - 1)).toEqual(['impossible'])
      expect(kinds(before - 1 + after[1])).toEqual(['impossible'])
      expect(kinds(after[1])).toEqual(['impossible'])
    })

    test('accepts a count whose swaps and changes of liquidity are of different states, and no other sum', () => {
      const kinds = (txCount: number) => kindsOf({ txCount: String(txCount) })
      expect(kinds(10 + 100)).toEqual([])
      expect(kinds(3 + 100)).toEqual([])
      expect(kinds(10)).toEqual([])
      expect(kinds(2)).toEqual(['stale'])
      expect(kinds(2 + 100)).toEqual(['impossible'])
      expect(kinds(3 + 99)).toEqual(['impossible'])
      expect(kinds(11 + 100)).toEqual(['impossible'])
    })
  })

  test('accepts the branch before a rollback to a block inside the range that follows it, until the rollback is over', () => {
    const [above, last] = [TRUNK[4], STAYS.at(-1)] as [Block, Block]
    const blocks = [...TRUNK.slice(4, 7), ...STAYS].map(messageOf)
    const { number: to, hash, timestamp } = last
    const range = { kind: 'range', network: 'ethereum', from: above.number, to, hash, timestamp } as const
    const history = historyOf([...TRUNK.map(messageOf), { ...range, parentHash: above.parentHash, blocks }], BLOCKS)
    const begun = servedAt(hash) + 100
    const seen = (at: number, block: Block | undefined) => ({ asked: at, answered: at + 5, hash: block?.hash })
    const tips = [...TIPS.slice(0, 10), seen(begun, TRUNK[6]), seen(begun + 5_000, TRUNK[6]), seen(begun + 6_000, last)]
    const kindsOf = (asked: number) =>
      judge(history, { answers: [answerAt(LEFT.at(-1), asked)], tips, servedAt }).violations.map(({ kind }) => kind)
    expect([begun + 2_000, begun + 4_900, begun + 6_500].map(kindsOf)).toEqual([[], [], []])
    expect(kindsOf(begun + 7_100)).toEqual(['stale'])
  })

  test('fails where the ledger shows what no message says', () => {
    const tips = [{ asked: 0, answered: 1, hash: `0x${'0'.repeat(64)}` as const }]
    expect(() => judge(HISTORY, { answers: [], tips, servedAt })).toThrow('in none of its states')
  })
})
