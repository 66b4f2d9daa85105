/** History as columns has the values of history as objects, to the last bit: of all sizes, decimals, venues and faults. */
import { type Hex, numberToHex } from 'viem'
import { describe, expect, test } from 'vitest'
import { connectChain } from '../../../infra/rpc/chain-client.ts'
import { type Assembler, createAssembler } from '../../../ingest/blocks/assemble.ts'
import { columnsOf, tickAt } from '../../../ingest/columns/tick-columns.ts'
import { V3_TOPICS } from '../../../ingest/decode/decode-v3.ts'
import { V4_TOPICS } from '../../../ingest/decode/decode-v4.ts'
import type { IngestFact } from '../../../ingest/model/fact.ts'
import type { BlockHeader } from '../../../ingest/model/message.ts'
import type { Network } from '../../../ingest/model/network.ts'
import { NETWORKS } from '../../../ingest/model/networks.ts'
import { DYNAMIC_FEE, type Pool, type PoolId } from '../../../ingest/model/pool.ts'
import type { TickColumns } from '../../../ingest/model/tick.ts'
import { isV3 } from '../../../ingest/pools/registry.ts'
import type { Endpoints } from '../../../ingest/rpc/endpoints/endpoints.ts'
import type { RpcLog } from '../../../ingest/rpc/rpc.ts'
import { ALGEBRA_TOPICS } from '../../../ingest/venues/algebra.ts'
import { pancake } from '../../../ingest/venues/pancake.ts'
import { type Random, randomOf } from '../../simulation/random.ts'
import { asFileLogs } from '../../support/file-logs.ts'
import { madeUpHash, recordedBlock, recordedDay } from '../../support/recorded.ts'
import { startRecordedDay } from '../../support/recorded-day.ts'
import { sample } from '../../support/sample.ts'
import { freshSeed } from '../../support/seeds.ts'

/** One range as objects, as columns from texts and as columns from bytes, by assemblers that have seen the same before. */
class Forms {
  readonly #facts: [IngestFact[], IngestFact[], IngestFact[]] = [[], [], []]
  readonly #objects: Assembler
  readonly #texts: Assembler
  readonly #bytes: Assembler

  constructor(make: (report: (fact: IngestFact) => void) => Assembler) {
    this.#objects = make((fact) => this.#facts[0].push(fact))
    this.#texts = make((fact) => this.#facts[1].push(fact))
    this.#bytes = make((fact) => this.#facts[2].push(fact))
  }

  async expectSame(logs: readonly RpcLog[], headers: readonly BlockHeader[]): Promise<TickColumns> {
    const objects = await this.#objects.assemble(logs, headers)
    const expected = columnsOf(objects)
    const blocks = objects.map((block) => ({ ...block, ticks: [] }))
    for (const content of [
      await this.#texts.assembleColumns(logs, headers),
      await this.#bytes.assembleColumns(asFileLogs(logs), headers),
    ]) {
      expect(content.blocks).toEqual(blocks)
      this.#expectColumns(content.ticks, expected)
    }
    expect(this.#facts[1]).toEqual(this.#facts[0])
    expect(this.#facts[2]).toEqual(this.#facts[0])
    return expected
  }

  #expectColumns(ticks: TickColumns, expected: TickColumns): void {
    for (const name of Object.keys(expected) as (keyof TickColumns)[]) {
      const [ours, theirs] = [ticks[name], expected[name]]
      const isSame = ArrayBuffer.isView(ours) && ArrayBuffer.isView(theirs) && bytesOf(ours).equals(bytesOf(theirs))
      // A difference of columns is shown as the first of their ticks.
      if (ArrayBuffer.isView(ours) && !isSame) expectSameTicks(ticks, expected)
      if (!isSame) expect(ours).toEqual(theirs)
    }
  }

  rollBack(block: number): void {
    for (const assembler of [this.#objects, this.#texts, this.#bytes]) assembler.rollBack(block)
  }

  finalize(block: number): void {
    for (const { usd } of [this.#objects, this.#texts, this.#bytes]) usd.finalize(block)
  }
}

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView) => Buffer.from(buffer, byteOffset, byteLength)

function expectSameTicks(ours: TickColumns, theirs: TickColumns): void {
  for (let row = 0; row < theirs.length; row++) expect(tickAt(ours, row)).toEqual(tickAt(theirs, row))
}

const { ethereum } = NETWORKS
const [usdc, weth] = [
  '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48',
  '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2',
] as const
const DAI = '0x6b175474e89094c44da98b954eedeac495271d0f'
const network: Network = {
  ...ethereum,
  venues: [
    { venue: 'pancake', factories: [madeUpHash(1).slice(0, 42) as Hex] },
    { venue: 'algebra', factories: [madeUpHash(2).slice(0, 42) as Hex] },
  ],
}
const KINDS = ['v3', 'v4', 'pancake', 'algebra'] as const
const TOKENS: readonly [string, number | undefined][] = [
  [usdc, 6],
  [weth, 18],
  [DAI, 18],
  ['0x0000000000000000000000000000000000000000', 18],
  ...Array.from({ length: 6 }, (_, index): [string, undefined] => [`0x${String(index).repeat(40)}`, undefined]),
]

function poolsOf(random: Random): Pool[] {
  const reference = ethereum.referencePools[0]?.pool as PoolId
  return Array.from({ length: 60 }, (_, index): Pool => {
    const kind = KINDS[index % KINDS.length] ?? 'v3'
    const [token0, token1] = [0, 1].map((place) => {
      const [address, known] =
        index === 0 ? (TOKENS[place] ?? [usdc, 6]) : random.pick(TOKENS as [(typeof TOKENS)[number]])
      const decimals = known ?? (random.chance(0.5) ? random.between(0, 24) : random.between(0, 255))
      return { address: address as Hex, symbol: 'T', name: 'T', decimals }
    }) as [Pool['token0'], Pool['token1']]
    const id = kind === 'v4' ? madeUpHash(index, 7) : (`0x${index.toString(16).padStart(40, 'c')}` as const)
    return {
      id: index === 0 ? (reference.toLowerCase() as PoolId) : id,
      protocol: kind === 'v4' ? 'dex-v4' : 'dex-v3',
      ...((kind === 'pancake' || kind === 'algebra') && { venue: kind }),
      token0,
      token1,
      fee: kind === 'algebra' ? DYNAMIC_FEE : random.between(0, 10_000),
      initialSqrtPriceX96: 0n,
    }
  })
}

const word = (value: bigint) => BigInt.asUintN(256, value).toString(16).padStart(64, '0')

function sizeOf(random: Random, bits: number): bigint {
  const most = (1n << BigInt(bits)) - 1n
  return (
    random.pick<() => bigint>([
      () => random.bits(random.between(0, bits)),
      () => random.bits(random.between(0, bits)),
      () => random.bits(random.between(40, 100)),
      () => random.bits(random.between(0, 14)),
      // Round numbers end in ties.
      () => BigInt(random.between(1, 100_000)) * 10n ** BigInt(random.between(0, 30)),
      () => (1n << BigInt(random.between(0, bits - 1))) + BigInt(random.between(-1, 1)),
      () => random.bits(54) << BigInt(random.between(0, 60)),
      () => random.pick([0n, 1n, 9_999n, 10_000n, 10_001n, most]),
    ])() & most
  )
}

const amountOf = (random: Random) =>
  random.chance(0.01) ? -(1n << 255n) : sizeOf(random, 255) * (random.chance(0.5) ? 1n : -1n)
const rootOf = (random: Random) =>
  random.chance(0.01) ? 0n : random.chance(0.5) ? random.bits(random.between(60, 160)) : sizeOf(random, 256)
const tickOf = (random: Random) =>
  random.chance(0.05) ? random.bits(256) : BigInt(random.between(-(2 ** 23), 2 ** 23 - 1))

const WORDS = { v3: 5, v4: 6, pancake: 7, algebra: 7 } as const
const SWAPS: Record<(typeof KINDS)[number], Hex> = {
  v3: V3_TOPICS.swap,
  v4: V4_TOPICS.swap,
  pancake: pancake.topics[0] as Hex,
  algebra: ALGEBRA_TOPICS.swap,
}
const kindOf = ({ id, venue }: Pool) =>
  id.length === 66 ? 'v4' : venue === 'pancake' || venue === 'algebra' ? venue : 'v3'

type Event = Pick<RpcLog, 'address' | 'topics' | 'data'>

function swapOf(random: Random, pool: Pool): Event {
  const kind = kindOf(pool)
  // Algebra V1 has Uniswap's Swap.
  const layout = kind === 'algebra' && random.chance(0.5) ? 'v3' : kind
  const words = [
    amountOf(random),
    amountOf(random),
    rootOf(random),
    sizeOf(random, random.chance(0.9) ? 128 : 256),
    tickOf(random),
  ]
  while (words.length < WORDS[layout])
    words.push(random.chance(0.5) ? 0n : sizeOf(random, random.chance(0.5) ? 24 : 256))
  const sender =
    `0x${word(random.chance(0.7) ? BigInt(random.between(0, 5)) : random.bits(random.chance(0.5) ? 160 : 256))}` as Hex
  const first = kind === 'v4' ? [pool.id as Hex, sender] : [sender, sender]
  const address = kind === 'v4' ? network.v4.poolManager : (pool.id as Hex)
  return { address, topics: [SWAPS[layout], ...first], data: `0x${words.map(word).join('')}` }
}

/** Faults that no sound node has, and writing that no other node has. */
function twisted(random: Random, event: Event): Event {
  const { topics, data } = event
  const upper = <T extends string>(text: T) => `0x${text.slice(2).toUpperCase()}` as T
  return random.pick<() => Event>([
    () => ({ ...event, data: upper(data) }),
    () => ({
      ...event,
      address: upper(event.address),
      topics: topics.map((topic, index) => (index === 0 ? topic : upper(topic))),
    }),
    () => ({ ...event, data: data.slice(0, -64) as Hex }),
    () => ({ ...event, data: `${data}${word(1n)}` }),
    () => ({ ...event, topics: topics.slice(0, 2) }),
    () => ({ ...event, topics: [...topics, madeUpHash(1)] }),
    () => ({ ...event, topics: [topics[0] as Hex, '0x12', ...topics.slice(2)] }),
    () => ({ ...event, topics: [] }),
    () => ({ ...event, topics: [madeUpHash(9), ...topics.slice(1)] }),
    () => ({ ...event, address: '0x1111111111111111111111111111111111111111' }),
  ])()
}

function otherOf(random: Random, pool: Pool): Event {
  const address = pool.id.slice(0, 42) as Hex
  const indexed = [madeUpHash(5), `0x${word(-60n)}`, `0x${word(60n)}`] as const
  const { poolManager } = network.v4
  if (kindOf(pool) === 'v4')
    return {
      address: poolManager,
      topics: [V4_TOPICS.modifyLiquidity, pool.id as Hex, indexed[0]],
      data: `0x${[-60n, 60n, -5n, 0n].map(word).join('')}`,
    }
  const fee = word(BigInt(random.between(0, 9_000)))
  return random.pick<() => Event>([
    () => ({ address, topics: [V3_TOPICS.burn, ...indexed], data: `0x${[7n, 1n, 2n].map(word).join('')}` }),
    () => ({ address, topics: [V3_TOPICS.mint, ...indexed], data: `0x${[1n, 7n, 1n, 2n].map(word).join('')}` }),
    () => ({ address, topics: [V3_TOPICS.initialize], data: `0x${[1n << 96n, 0n].map(word).join('')}` }),
    () => ({ address, topics: [ALGEBRA_TOPICS.fee], data: `0x${fee}` }),
    () => ({ address, topics: [ALGEBRA_TOPICS.feeByDirection], data: `0x${fee}${word(5n)}` }),
    () => ({
      address,
      topics: [ALGEBRA_TOPICS.swapFee, indexed[0]],
      data: `0x${fee}${word(BigInt(random.between(0, 9)))}`,
    }),
  ])()
}

/** A range of blocks; each block of some logs, and a header of nearly each. */
function rangeOf(random: Random, pools: readonly Pool[], first: number, swaps: number, isFirst: boolean) {
  const events: Event[] = isFirst
    ? pools
        .filter((pool) => pool.venue === 'algebra')
        .map(({ id }) => ({ address: id as Hex, topics: [ALGEBRA_TOPICS.fee], data: `0x${word(100n)}` }))
    : []
  for (let swap = 0; swap < swaps; swap++) {
    const pool = random.pick(pools as [Pool])
    if (random.chance(0.1)) events.push(otherOf(random, pool))
    const event = swapOf(random, pool)
    events.push(random.chance(0.05) ? twisted(random, event) : event)
  }
  let [block, logIndex, transaction] = [first, 0, 0]
  const logs = events.map((event): RpcLog => {
    if (random.chance(0.3)) [block, logIndex] = [block + random.between(1, 3), random.between(0, 3_000)]
    if (random.chance(0.6)) transaction = random.between(0, 2 ** 32 - 1)
    const place = { blockNumber: numberToHex(block), blockHash: madeUpHash(block), logIndex: numberToHex(logIndex++) }
    return { ...event, ...place, transactionHash: `0x${word(BigInt(transaction) ** 7n)}` }
  })
  const headers = [...new Set(logs.map(({ blockNumber }) => Number(blockNumber)))]
    .filter(() => random.chance(0.98))
    .map((number) => ({ number, hash: madeUpHash(number), timestamp: 1_700_000_000 + number }))
  return { logs, headers, last: block }
}

const RANGES = 20
const SWAPS_TOTAL = sample('SWAPS', 20_000, 1_000_000)

test('ranges of random swaps are the same in all forms', { timeout: 1_800_000 }, async () => {
  const seed = freshSeed('simulation')
  let ticks = 0
  for (let run = 0; ticks < SWAPS_TOTAL; run++) {
    const random = randomOf(seed + run)
    const pools = poolsOf(random)
    const known = new Map(pools.map((pool) => [pool.id, pool]))
    const unknown = new Set(pools.slice(45).flatMap(({ id }) => (isV3(id) ? id : [])))
    const wanted = run % 4 === 3 ? new Set(pools.slice(8, 30).map(({ id }) => id)) : undefined
    const stored = async (ids: readonly PoolId[]) => ids.flatMap((id) => (unknown.has(id) ? [] : (known.get(id) ?? [])))
    // It knows no other pool and no fee.
    const endpoints = { run: async () => [], maxBlocks: () => 50_000, narrow: () => {} } as unknown as Endpoints
    const forms = new Forms((report) => createAssembler(endpoints, network, wanted, report, stored))
    let first = 1_000
    for (let range = 0; range < RANGES; range++) {
      const { logs, headers, last } = rangeOf(random, pools, first, random.between(0, 600), range === 0)
      ticks += (await forms.expectSame(logs, headers)).length
      if (random.chance(0.2)) forms.rollBack(first - 1)
      forms.finalize(last)
      first = last + 1
    }
  }
})

const headersOf = (logs: readonly RpcLog[]) =>
  [...new Map(logs.map((log) => [log.blockNumber, log])).values()].map((log) => ({
    number: Number(log.blockNumber),
    hash: log.blockHash,
    timestamp: Number(log.blockTimestamp ?? 1_700_000_000),
  }))

describe('recorded swaps are the same in all forms', () => {
  test('of a day', async () => {
    const rpc = await startRecordedDay()
    const { endpoints } = connectChain([rpc.url], { headerProof: 'off' })
    const forms = new Forms((report) => createAssembler(endpoints, ethereum, undefined, report))
    const logs = recordedDay()
    const blocks = headersOf(logs)
    const middle = blocks[Math.floor(blocks.length / 2)]?.number ?? 0
    const isLate = ({ blockNumber }: RpcLog) => Number(blockNumber) > middle
    const early = logs.filter((log) => !isLate(log))
    const late = logs.filter(isLate)
    const [one, other] = [
      await forms.expectSame(early, headersOf(early)),
      await forms.expectSame(late, headersOf(late)),
    ]
    expect(one.length + other.length).toBe(6_046)
    await rpc.stop()
  })

  test('of a block of v3 and v4', async () => {
    const { logs } = recordedBlock()
    const pools = logs.map(({ address, topics }): Pool => {
      const isV4 = topics[0] === V4_TOPICS.swap
      const token = (address: Hex, decimals: number) => ({ address, symbol: 'T', name: 'T', decimals })
      const id = isV4 ? (topics[1] as Hex) : address
      return {
        id,
        protocol: isV4 ? 'dex-v4' : 'dex-v3',
        token0: token(usdc, 6),
        token1: token(weth, 18),
        fee: 500,
        initialSqrtPriceX96: 0n,
      }
    })
    const stored = async (ids: readonly PoolId[]) => ids.flatMap((id) => pools.find((pool) => pool.id === id) ?? [])
    const forms = new Forms((report) => createAssembler({} as Endpoints, ethereum, undefined, report, stored))
    expect((await forms.expectSame(logs, headersOf(logs))).length).toBe(15)
  })
})
