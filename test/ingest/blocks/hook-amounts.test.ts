/** The events of a hook belong to the swaps that they are about, in all forms of history. */
import { type Hex, numberToHex, padHex, toHex } from 'viem'
import { describe, expect, test } from 'vitest'
import { createAssembler } from '../../../ingest/blocks/assemble.ts'
import { tickAt } from '../../../ingest/columns/tick-columns.ts'
import { HOOK_TOPICS } from '../../../ingest/decode/decode-hooks.ts'
import { V4_TOPICS } from '../../../ingest/decode/decode-v4.ts'
import type { IngestFact } from '../../../ingest/model/fact.ts'
import { NETWORKS } from '../../../ingest/model/networks.ts'
import type { Pool, PoolId } from '../../../ingest/model/pool.ts'
import type { HookAmounts } from '../../../ingest/model/tick.ts'
import type { Endpoints } from '../../../ingest/rpc/endpoints/endpoints.ts'
import type { RpcLog } from '../../../ingest/rpc/rpc.ts'
import { randomOf } from '../../simulation/random.ts'
import { asFileLogs } from '../../support/file-logs.ts'
import { madeUpHash } from '../../support/recorded.ts'
import { sample } from '../../support/sample.ts'
import { freshSeed } from '../../support/seeds.ts'

const { ethereum } = NETWORKS
/** Their last digit has the rights: to take before and after swaps, only before, only after, neither. */
const [BOTH, BEFORE, AFTER, NEITHER] = [0xc, 0x8, 0x4, 0x3].map((rights) => address(0x1000 + rights))
const POOLS = [BOTH, BEFORE, AFTER, NEITHER, undefined].map((hooks, index) => poolOf(madeUpHash(index, 5), hooks))
const [ALICE, BOB] = [address(0xa11ce), address(0xb0b)]
const [A, B, C, D, E] = POOLS.map(({ id }) => id) as [Hex, Hex, Hex, Hex, Hex]
const INT128 = 2n ** 127n

type Event = { emitter?: Hex; pool: Hex; sender?: Hex; topic: Hex; words: readonly bigint[]; transaction?: number }

function address(number: number): Hex {
  return padHex(toHex(number), { size: 20 })
}

function poolOf(id: PoolId, hooks: Hex | undefined): Pool {
  const token = (decimals: number, place: number) => ({ address: address(place), symbol: 'T', name: 'T', decimals })
  const pool = { id, token0: token(6, 1), token1: token(18, 2), fee: 500, initialSqrtPriceX96: 0n }
  return { ...pool, protocol: 'dex-v4', ...(hooks && { hooks }) }
}

const hookOf = (pool: Hex) => POOLS.find(({ id }) => id === pool)?.hooks
const swap = (pool: Hex, amount0 = 0n, amount1 = 0n): Event => ({
  ...{ pool, emitter: ethereum.v4.poolManager, topic: V4_TOPICS.swap },
  words: [amount0, amount1, 2n ** 96n, 1n, 0n, 500n],
})
const change = (pool: Hex): Event => ({
  ...{ pool, emitter: ethereum.v4.poolManager, topic: V4_TOPICS.modifyLiquidity },
  words: [-60n, 60n, 5n, 0n],
})
const traded = (pool: Hex, amount0: bigint, amount1: bigint, fee0 = 0n, fee1 = 0n): Event => ({
  ...{ pool, topic: HOOK_TOPICS.hookSwap },
  words: [amount0, amount1, fee0, fee1],
})
const charged = (pool: Hex, fee0: bigint, fee1: bigint): Event => ({
  ...{ pool, topic: HOOK_TOPICS.hookFee },
  words: [fee0, fee1],
})

const BLOCK = 25_000_000
const header = { number: BLOCK, hash: madeUpHash(BLOCK), timestamp: 1_700_000_000 }

function logsOf(events: readonly Event[]): RpcLog[] {
  return events.map(({ emitter, pool, sender = ALICE, topic, words, transaction = 0 }, index) => ({
    address: emitter ?? hookOf(pool) ?? address(0xbad),
    topics: [topic, pool, padHex(sender ?? '0x', { size: 32 })],
    data: `0x${words.map((word) => BigInt.asUintN(256, word).toString(16).padStart(64, '0')).join('')}`,
    blockNumber: numberToHex(BLOCK),
    blockHash: header.hash,
    transactionHash: madeUpHash(transaction, 9),
    logIndex: numberToHex(index),
  }))
}

/** By the place of each swap; undefined where nothing is known. All forms have to give the same. */
async function amountsOf(events: readonly Event[]) {
  const facts: IngestFact[] = []
  const asked: PoolId[] = []
  const stored = async (ids: readonly PoolId[]) => {
    asked.push(...ids)
    return POOLS.filter(({ id }) => ids.includes(id))
  }
  const make = () => createAssembler({} as Endpoints, ethereum, undefined, (fact) => facts.push(fact), stored)
  const logs = logsOf(events)
  const [block] = await make().assemble(logs, [header])
  const amounts = new Map(block?.ticks.map(({ logIndex, hookAmounts }) => [logIndex, hookAmounts]))
  for (const form of [logs, asFileLogs(logs)]) {
    const { ticks } = await make().assembleColumns(form, [header])
    const found = Array.from({ length: ticks.length }, (_, row) => tickAt(ticks, row))
    expect(new Map(found.map(({ logIndex, hookAmounts }) => [logIndex, hookAmounts]))).toEqual(amounts)
  }
  return { amounts, facts, asked }
}

async function expectAmounts(events: readonly Event[], expected: readonly (readonly [bigint, bigint] | undefined)[]) {
  const { amounts } = await amountsOf(events)
  expect([...amounts.values()]).toEqual(expected.map((it) => it && { amount0: it[0], amount1: it[1] }))
}

describe('the amounts of a hook', () => {
  test.each<[string, Event[], (readonly [bigint, bigint] | undefined)[]]>([
    ['a fee is taken', [swap(A, -5n, 4n), charged(A, 0n, 3n)], [[0n, -3n]]],
    ['all fees of a swap are taken', [swap(A, -5n, 4n), charged(A, 1n, 3n), charged(A, 1n, 0n)], [[-2n, -3n]]],
    ['a fee before the first swap is of none', [charged(A, 1n, 1n), swap(A)], [undefined]],
    ['a fee is of the last swap', [swap(A), swap(A), charged(A, 1n, 2n)], [undefined, [-1n, -2n]]],
    ['a fee after a change of liquidity is of that', [swap(A), change(A), charged(A, 1n, 2n)], [undefined]],
    [
      'a change of liquidity by another caller, as the hook itself, does not stand between',
      [swap(A), { ...change(A), sender: BOTH ?? '0x' }, charged(A, 1n, 2n)],
      [[-1n, -2n]],
    ],
    ['a change in another pool does neither', [swap(A), change(C), charged(A, 1n, 2n)], [[-1n, -2n]]],
    ['an event names the caller of its swap', [swap(A), { ...charged(A, 1n, 2n), sender: BOB }], [undefined]],
    [
      'a swap of the hook itself in between is another one',
      [
        traded(A, 9n, 0n),
        { ...swap(A), sender: BOTH ?? '0x' },
        swap(A),
        { ...swap(A), sender: BOTH ?? '0x' },
        charged(A, 1n, 0n),
      ],
      [undefined, [-10n, 0n], undefined],
    ],
    ['a trade is of the next swap', [swap(A), traded(A, 9n, -8n), swap(A)], [undefined, [-9n, 8n]]],
    ['a trade without a swap is of none', [swap(A), traded(A, 9n, -8n)], [undefined]],
    [
      'an event of another transaction is of no swap of this one',
      [traded(A, 9n, 0n), { ...swap(A), transaction: 1 }, { ...charged(A, 1n, 0n), transaction: 2 }],
      [undefined],
    ],
    ['a fee of the first token: that was paid', [traded(B, 9n, 8n, 1n, 0n), swap(B)], [[-9n, 8n]]],
    ['a fee of the second token: that was paid', [traded(B, 9n, 8n, 0n, 1n), swap(B)], [[9n, -8n]]],
    ['a fee of the token that was received is a contradiction', [traded(B, 9n, -8n, 0n, 1n), swap(B)], [undefined]],
    ['both were received: a contradiction', [traded(B, -9n, -8n), swap(B)], [undefined]],
    ['a hook gives without taking', [traded(B, 0n, -8n), swap(B)], [[0n, 8n]]],
    ['no fee and no sign: nothing is known', [traded(B, 9n, 8n), swap(B)], [undefined]],
    ['two fees: nothing is known', [traded(B, 9n, 8n, 1n, 1n), swap(B)], [undefined]],
    ['no fee, and a part through the pool: its direction', [traded(B, 9n, 8n), swap(B, -2n, 1n)], [[-9n, 8n]]],
    ['no fee, and the other direction', [traded(B, 9n, 8n), swap(B, 2n, -1n)], [[9n, -8n]]],
    ['what is known does not help where a trade is not', [traded(A, 9n, 8n), swap(A), charged(A, 1n, 0n)], [undefined]],
    ['a hook without the right to take before', [traded(C, 9n, 0n), swap(C)], [undefined]],
    ['a hook without the right to take after', [swap(B), charged(B, 1n, 0n)], [undefined]],
    ['a hook without any', [traded(D, 9n, 0n), swap(D), charged(D, 1n, 0n)], [undefined]],
    ['a pool without a hook', [traded(E, 9n, 0n), swap(E), charged(E, 1n, 0n)], [undefined]],
    [
      'other emitters: a stranger, the hook of another pool, the PoolManager',
      [
        ...[address(1), BEFORE, AFTER, ethereum.v4.poolManager].map((emitter = '0x') => ({
          ...traded(A, 9n, 0n),
          emitter,
        })),
        swap(A),
        ...[address(1), BEFORE, AFTER, ethereum.v4.poolManager].map((emitter = '0x') => ({
          ...charged(A, 9n, 0n),
          emitter,
        })),
      ],
      [undefined],
    ],
    [
      'the largest amounts',
      [
        traded(A, -INT128, 0n),
        traded(A, INT128 - 1n, -INT128),
        swap(A),
        charged(A, 2n * INT128 - 1n, 2n * INT128 - 1n),
      ],
      [[INT128 - (INT128 - 1n) - (2n * INT128 - 1n), INT128 - (2n * INT128 - 1n)]],
    ],
  ])('%s', async (_, events, expected) => {
    await expectAmounts(events, expected)
  })

  test('words that are no such amounts, and topics that are missing, are told of and count nothing', async () => {
    const good = charged(A, 1n, 2n)
    const { amounts, facts } = await amountsOf([
      { ...traded(A, 0n, 0n), words: [INT128, 0n, 0n, 0n] },
      { ...traded(A, 0n, 0n), words: [0n, -INT128 - 1n, 0n, 0n] },
      { ...traded(A, 0n, 0n), words: [1n, 0n, 2n * INT128, 0n] },
      { ...traded(A, 0n, 0n), words: [1n, 0n, 0n] },
      swap(A, -1n, 1n),
      good,
      { ...good, words: [0n, 2n * INT128] },
      { ...good, words: [1n] },
      { ...good, words: [1n, 1n, 1n] },
    ])
    expect([...amounts.values()]).toEqual([{ amount0: -1n, amount1: -2n }])
    const broken = facts.filter(({ kind }) => kind === 'log-broken')
    // Three forms read seven of them.
    expect(broken).toHaveLength(21)
  })

  test('no pool is looked for because an event of a hook names it', async () => {
    const strange = Array.from({ length: 50 }, (_, index) => charged(madeUpHash(index, 77), 1n, 1n))
    const { asked } = await amountsOf([...strange, swap(A)])
    expect(new Set(asked)).toEqual(new Set([A]))
  })

  test('twenty times as many events of one transaction do not take hundreds of times as long', async () => {
    const msFor = async (count: number) => {
      const events = Array.from({ length: count }, (_, index) =>
        index % 5 === 0 ? swap(A) : { ...traded(A, 1n, 0n), sender: index % 5 < 3 ? ALICE : BOB },
      )
      const logs = logsOf(events)
      const assembler = createAssembler(
        {} as Endpoints,
        ethereum,
        undefined,
        () => {},
        async () => POOLS,
      )
      const begun = performance.now()
      const { ticks } = await assembler.assembleColumns(logs, [header])
      expect(ticks.hookAmounts.get(BLOCK)?.size).toBe(count / 5 - 1)
      return performance.now() - begun
    }
    const few = await msFor(1_000)
    expect((await msFor(20_000)) / few).toBeLessThan(100)
  })
})

/** By the definition: each event looks for its own swap. */
function expectedAmounts(events: readonly Event[]): Map<number, HookAmounts | undefined> {
  const isSwap = ({ topic }: Event) => topic === V4_TOPICS.swap
  const isSame = (one: Event, other: Event) =>
    one.pool === other.pool && one.sender === other.sender && one.transaction === other.transaction
  const amounts = new Map<number, HookAmounts | undefined>(
    events.flatMap((event, place) => (isSwap(event) ? [[place, undefined]] : [])),
  )
  for (const [place, event] of events.entries()) {
    const { topic, pool, emitter } = event
    const hook = hookOf(pool)
    const rights = Number.parseInt((hook ?? '0x0').slice(-1), 16)
    const isTrade = topic === HOOK_TOPICS.hookSwap
    if (isSwap(event) || topic === V4_TOPICS.modifyLiquidity || emitter !== undefined) continue
    if (hook === undefined || (rights & (isTrade ? 8 : 4)) === 0) continue
    const before = events.slice(0, place).findLastIndex((other) => isSwap(other) && isSame(event, other))
    const after = events.findIndex((other, index) => index > place && isSwap(other) && isSame(event, other))
    const found = isTrade ? after : before
    const between = events.slice(found, place)
    const isOfLiquidity = between.some((it) => it.topic === V4_TOPICS.modifyLiquidity && isSame(event, it))
    if (found === -1 || (!isTrade && isOfLiquidity)) continue
    const [amount0 = 0n, amount1 = 0n] = event.words
    const sum = amounts.get(found) ?? { amount0: 0n, amount1: 0n }
    amounts.set(found, { amount0: sum.amount0 - amount0, amount1: sum.amount1 - amount1 })
  }
  return amounts
}

test('events of random transactions belong to the swaps that the definition gives them', async () => {
  const seed = freshSeed('simulation')
  for (let run = 0; run < sample('HOOK_RUNS', 40, 400); run++) {
    const random = randomOf(seed + run)
    let transaction = 0
    const events = Array.from({ length: random.between(1, 60) }, (): Event => {
      if (random.chance(0.2)) transaction++
      const pool = random.pick([A, A, B, C, D, E])
      const sizes = [BigInt(random.between(0, 1_000)), -BigInt(random.between(0, 1_000))] as const
      const kind = random.between(0, 9)
      const event =
        kind < 4
          ? swap(pool)
          : kind < 5
            ? change(pool)
            : kind < 7
              ? traded(pool, ...sizes)
              : charged(pool, sizes[0], 3n)
      const isForeign = kind >= 5 && random.chance(0.2)
      return {
        ...event,
        sender: random.pick([ALICE, ALICE, BOB]),
        transaction,
        ...(isForeign && { emitter: address(7) }),
      }
    })
    const { amounts } = await amountsOf(events)
    expect(amounts, `seed ${seed + run}`).toEqual(expectedAmounts(events))
  }
})
