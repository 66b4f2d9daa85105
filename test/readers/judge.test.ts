/** The judge of readers: it accepts each exact state in its time, and finds every kind of wrong answer. */
import { describe, expect, test } from 'vitest'
import type { BlockMessage } from '../../ingest/model/message.ts'
import { type Block, mine, mineHistory } from '../simulation/block.ts'
import { POOLS, type PoolContract } from '../simulation/market.ts'
import { randomOf } from '../simulation/random.ts'
import { type Answer, judge, type TipSeen } from './judge.ts'
import { historyOf } from './ledger-history.ts'
import { expectedPart, type Question } from './question.ts'

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

const [from, to] = [ROOT.timestamp, (STAYS.at(-1)?.timestamp ?? 0) + 1]
const TICKS: Question = { kind: 'ticks', pool: POOL, from, to }

/** The answer of a service whose ledger ends with `tip`. */
function answerAt(tip: Block | undefined, asked: number, reader = 'one'): Answer {
  const ticks = tip ? (expectedPart(TICKS, 'ticks', tip, HISTORY) as string[]) : []
  const data = ticks.map((line) => ({ id: line.split(' ')[0], price: Number(line.split(' ')[1]) }))
  return { reader, question: TICKS, asked, answered: asked + 20, body: { data } }
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

  test('finds an answer that nothing could know yet', () => {
    expect(verdictOn(answerAt(TRUNK[5], 4_500))).toEqual(['impossible'])
  })

  test('finds what is shown of a branch a second after it was left', () => {
    expect(verdictOn(answerAt(LEFT.at(-1), servedAt(STAYS[0]?.hash ?? '') + 900))).toEqual([])
    expect(verdictOn(answerAt(LEFT.at(-1), servedAt(STAYS[1]?.hash ?? '') + 500))).toEqual(['stale'])
  })

  test('finds a mixture of two branches', () => {
    const torn = answerAt(STAYS[1], servedAt(STAYS[1]?.hash ?? '') + 100)
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

  test('fails where the ledger shows what no message says', () => {
    const tips = [{ asked: 0, answered: 1, hash: `0x${'0'.repeat(64)}` as const }]
    expect(() => judge(HISTORY, { answers: [], tips, servedAt })).toThrow('in none of its states')
  })
})
