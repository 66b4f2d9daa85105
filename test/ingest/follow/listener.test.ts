/** The listener against a node over recorded logs, with the errors of real providers. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, http } from 'viem'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { commonAncestor } from '../../../ingest/follow/common-ancestor.ts'
import { listen, type WatchHeads } from '../../../ingest/follow/listener.ts'
import type { StartBlock } from '../../../ingest/follow/start-block.ts'
import type { IngestFact } from '../../../ingest/model/fact.ts'
import { blocksOf, type Message, tipOf } from '../../../ingest/model/message.ts'
import { NETWORKS } from '../../../ingest/model/networks.ts'
import type { StoredChain } from '../../../ingest/model/stored-chain.ts'
import { endpointsOf } from '../../../ingest/rpc/endpoints/endpoints.ts'
import { getHead, getHeader, type Header } from '../../../ingest/rpc/rpc.ts'
import { type ArrayLog, arrayLog } from '../../support/array-log.ts'
import { DAY, DAY_POOL, madeUpHash } from '../../support/recorded.ts'
import { startRecordedDay } from '../../support/recorded-day.ts'
import type { RpcServer } from '../../support/rpc-server.ts'
import { until } from '../../support/until.ts'

const FAST = { coolDownMs: 20, maxCoolDownMs: 100, rateLimitMs: 20, minPerSecond: 1_000 }
const nothingStored: StoredChain = { tip: async () => undefined, below: async () => [] }
const FROM = DAY.lastBlock - 3_000
const FINALIZED = DAY.lastBlock - 30

let rpc: RpcServer
let facts: IngestFact[]
let stop: () => Promise<void>

beforeEach(async () => {
  rpc = await startRecordedDay({ finalized: FINALIZED })
  facts = []
})

afterEach(async () => {
  await stop()
  await rpc.stop()
})

type Options = {
  stored?: StoredChain
  start?: StartBlock
  pools?: ReadonlySet<`0x${string}`>
  log?: ArrayLog
  /** It is asked only when a head is told. */
  watchHeads?: WatchHeads
  onFetch?: (answered: Promise<Response>, body: string) => void
}

function start(options: Options = {}): ArrayLog {
  const log = options.log ?? arrayLog()
  const stopping = new AbortController()
  const fetchFn: typeof fetch = (...request) => {
    const answered = fetch(...request)
    options.onFetch?.(answered, String(request[1]?.body))
    return answered
  }
  const client = createClient({ transport: http(rpc.url, { batch: true, retryCount: 0, fetchFn }) })
  const endpoints = endpointsOf([client], {
    headerProof: 'off',
    network: NETWORKS.ethereum,
    report: (fact) => facts.push(fact),
    retryPolicy: FAST,
  })
  const listening = listen(endpoints, {
    network: NETWORKS.ethereum,
    log,
    stored: options.stored ?? nothingStored,
    start: options.start ?? { kind: 'block', number: FROM },
    pools: options.pools,
    watchHeads: options.watchHeads,
    pollMs: options.watchHeads ? 3_600_000 : 20,
    announcedPollMs: 1_000,
    report: (fact) => facts.push(fact),
    signal: stopping.signal,
  })
  listening.catch(() => undefined)
  stop = async () => {
    stopping.abort()
    await listening.catch(() => undefined)
  }
  return log
}

async function untilHead(log: ArrayLog): Promise<readonly Message[]> {
  const look = async () => (log.messages.length > 0 && newest(log).number === rpc.chain.head ? true : undefined)
  await until(look, 'the head is appended')
  return log.messages
}

function newest(log: ArrayLog) {
  return tipOf(log.messages.at(-1) as Message)
}

const ticksOf = (messages: readonly Message[]) =>
  messages.flatMap((message) => blocksOf(message).flatMap((block) => block.ticks))

describe('one stream of messages', () => {
  test('messages are ranges up to finality and single blocks above, each with the parent of the one before', async () => {
    const messages = await untilHead(start())
    const kinds = messages.map((message) => message.kind)
    expect(kinds.lastIndexOf('range')).toBe(kinds.indexOf('block') - 1)
    expect(messages[kinds.lastIndexOf('range')]).toMatchObject({ to: FINALIZED })
    let next = FROM
    let parent: string | undefined
    for (const message of messages) {
      expect(message.kind === 'range' ? message.from : message.number).toBe(next)
      expect(message.parentHash).toBe(parent)
      const tip = tipOf(message)
      next = tip.number + 1
      parent = tip.hash
    }
  })

  test('the stream has every swap once, ordered by block and log index', async () => {
    const messages = await untilHead(start())
    const expected = rpc.chain.logs.filter(
      (log) => Number(log.blockNumber) >= FROM && log.topics[0]?.startsWith('0xc42079f9'),
    )
    const places = messages.flatMap((message) =>
      blocksOf(message).flatMap((block) => block.ticks.map((tick) => `${block.number} ${tick.logIndex}`)),
    )
    expect(places).toEqual(expected.map((log) => `${Number(log.blockNumber)} ${Number(log.logIndex)}`))
  })

  test('times come from headers where logs have none, and are the same', async () => {
    const withTimes = structuredClone(await untilHead(start()))
    await stop()
    rpc.faults.hideTimestamps = true
    const withoutTimes = await untilHead(start())
    const times = (messages: readonly Message[]) =>
      messages.flatMap((it) => blocksOf(it).map((block) => [block.number, block.timestamp]))
    expect(times(withoutTimes)).toEqual(times(withTimes))
  })

  test('a pool is known from its first swap on, asked of the pool and of the official factory', async () => {
    const messages = await untilHead(start())
    const pools = messages.flatMap((message) => blocksOf(message).flatMap((block) => block.pools))
    expect(pools).toEqual([
      expect.objectContaining({
        id: DAY_POOL,
        protocol: 'dex-v3',
        fee: 500,
        token0: expect.objectContaining({ symbol: 'USDC', decimals: 6 }),
      }),
    ])
  })

  test('the stream holds only the pools that are asked for; reference pools still price', async () => {
    const messages = await untilHead(start({ pools: new Set(['0x0000000000000000000000000000000000000001']) }))
    expect(ticksOf(messages)).toEqual([])
  })

  test('pools of another factory are dropped, which is said once each', async () => {
    rpc.chain.contracts = {
      ...rpc.chain.contracts,
      [DAY_POOL]: {
        kind: 'v3-pool',
        factory: '0x0000000000000000000000000000000000000001',
        token0: '0x1',
        token1: '0x2',
        fee: 500,
      },
    }
    expect(ticksOf(await untilHead(start()))).toEqual([])
    expect(facts.filter((fact) => fact.kind === 'pool-skipped')).toEqual([
      { kind: 'pool-skipped', network: 'ethereum', pool: DAY_POOL, reason: 'other-factory' },
    ])
  })

  test('a pool whose token states no decimals is skipped: never 0', async () => {
    const usdc = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
    const { [usdc]: _, ...others } = rpc.chain.contracts
    const fake = '0x00000000000000000000000000000000000000ff'
    rpc.chain.contracts = { ...others, [DAY_POOL]: { ...(others[DAY_POOL] as object), token0: fake } as never }
    expect(ticksOf(await untilHead(start()))).toEqual([])
    expect(facts).toContainEqual({ kind: 'pool-skipped', network: 'ethereum', pool: DAY_POOL, reason: 'no-decimals' })
  })
})

describe('a node that is not at its best', () => {
  test('“query returned more than 50 results”: ranges are halved until they fit', async () => {
    rpc.faults.maxLogs = 50
    const expected = rpc.chain.logs.filter(
      (log) => Number(log.blockNumber) >= FROM && log.topics[0]?.startsWith('0xc42079f9'),
    )
    expect(ticksOf(await untilHead(start()))).toHaveLength(expected.length)
    expect(facts.some((fact) => fact.kind === 'range-split')).toBe(true)
  })

  test('429, 500 and errors are waited out, and nothing is missing', async () => {
    rpc.faults.nextStatus = [429, 500]
    rpc.faults.failNext = [{ method: 'eth_getLogs', error: { code: -32000, message: 'header not found' } }]
    const messages = await untilHead(start())
    expect(messages[0]).toMatchObject({ from: FROM })
    expect(facts.filter((fact) => fact.kind === 'rpc-failed').length).toBeGreaterThanOrEqual(2)
  })

  test('a node that falls behind what was read changes nothing', async () => {
    const log = start()
    const before = (await untilHead(log)).length
    rpc.chain.head -= 5
    await until(async () => ((rpc.calls['eth_getBlockByNumber'] ?? 0) > 0 ? true : undefined), 'it is asked again')
    await new Promise((resolve) => setTimeout(resolve, 200))
    rpc.chain.head += 5
    expect(log.messages).toHaveLength(before)
    expect(facts.some((fact) => fact.kind === 'reorg')).toBe(false)
  })
})

describe('a listener that is started again', () => {
  test('resumes after the last message of the log', async () => {
    const log = start()
    await untilHead(log)
    await stop()
    const count = log.messages.length
    rpc.chain.head += 3
    await untilHead(start({ log }))
    expect(log.messages.slice(count).map((message) => tipOf(message).number)).toEqual(
      [1, 2, 3].map((it) => DAY.lastBlock + it),
    )
  })

  test('resumes after the stored tip where the log keeps nothing', async () => {
    const tip = { number: FINALIZED + 5, hash: madeUpHash(FINALIZED + 5) }
    const real = rpc.chain.logs.find((log) => Number(log.blockNumber) === tip.number)
    const stored: StoredChain = {
      tip: async () => ({ ...tip, hash: real?.blockHash ?? tip.hash, finalized: 0 }),
      below: async () => [],
    }
    const [first] = await untilHead(start({ stored }))
    expect(first).toMatchObject({ kind: 'block', number: tip.number + 1 })
  })

  test('steps back to the newest stored block that is still on the chain', async () => {
    const stored: StoredChain = {
      tip: async () => ({ number: FINALIZED + 5, hash: madeUpHash(FINALIZED + 5, 7), finalized: FINALIZED }),
      below: async () => [
        { number: FINALIZED + 4, hash: madeUpHash(FINALIZED + 4, 7) },
        { number: FINALIZED + 3, hash: madeUpHash(FINALIZED + 3) },
      ],
    }
    const [first] = await untilHead(start({ stored }))
    expect(first).toMatchObject({ kind: 'block', number: FINALIZED + 4, parentHash: madeUpHash(FINALIZED + 3) })
  })

  test('halts where nothing stored is on the chain, and says what to do', async () => {
    const stored: StoredChain = {
      tip: async () => ({ number: FINALIZED, hash: madeUpHash(FINALIZED, 7), finalized: FINALIZED }),
      below: async () => [],
    }
    const client = createClient({ transport: http(rpc.url) })
    const listening = listen(endpointsOf([client], { headerProof: 'off' }), {
      network: NETWORKS.ethereum,
      log: arrayLog(),
      stored,
      start: { kind: 'latest' },
      pollMs: 20,
      report: () => {},
      signal: new AbortController().signal,
    })
    stop = async () => {}
    await expect(listening).rejects.toThrowErrorMatchingInlineSnapshot(
      `[ChainReplaced: The ethereum chain was replaced below its finality: block 18944450 was final as 0x00000007000000000000000000000000000000000000000000000000012111c2, and is 0x00000000000000000000000000000000000000000000000000000000012111c2 now. Nothing stored was changed. Check that ETHEREUM_RPC_URL names nodes of the right chain; if the chain itself was replaced, go back to a block below: npm run rewind -- --network ethereum --to BLOCK]`,
    )
  })

  test.each([1, 2, 77, 800])('names the newest stored block that the chain has, %i blocks below', async (depth) => {
    const hashOf = (number: number) => madeUpHash(number, number > FINALIZED - depth ? 7 : 0)
    const oldest = FINALIZED - 1_000
    let asked = 0
    const stored: StoredChain = {
      tip: async () => ({ number: FINALIZED, hash: hashOf(FINALIZED), finalized: FINALIZED }),
      below: async (number) => {
        asked++
        // Every third block, as ranges are stored.
        const last = oldest + Math.floor((number - 1 - oldest) / 3) * 3
        return last < oldest ? [] : [{ number: last, hash: hashOf(last) }]
      },
    }
    const error = await commonAncestor(
      endpointsOf([createClient({ transport: http(rpc.url) })], { headerProof: 'off' }),
      stored,
      FINALIZED,
    )
    expect(error?.number).toBe(oldest + Math.floor((1_000 - depth) / 3) * 3)
    expect(asked).toBeLessThan(30)
  })

  test.each([
    ['40 blocks ago', { kind: 'blocks-ago', blocks: 40 }, DAY.lastBlock - 40],
    ['a block', { kind: 'block', number: FROM }, FROM],
    ['a block beyond the head, and so at what is final', { kind: 'block', number: DAY.lastBlock + 9 }, FINALIZED],
    ['10 blocks ago, and so at what is final', { kind: 'blocks-ago', blocks: 10 }, FINALIZED],
    ['latest, and so at what is final', { kind: 'latest' }, FINALIZED],
  ] as const)('begins an empty store at %s', async (_, from, block) => {
    const [first] = await untilHead(start({ start: from }))
    expect(first).toMatchObject({ kind: 'range', from: block })
  })

  test('begins an empty store at the first block of a duration', async () => {
    const head = rpc.chain.timestampOf(rpc.chain.head)
    const [first] = await untilHead(start({ start: { kind: 'seconds-ago', seconds: 3_600 } }))
    const number = first?.kind === 'range' ? first.from : (first?.number ?? 0)
    expect(rpc.chain.timestampOf(number)).toBeGreaterThanOrEqual(head - 3_600)
    expect(rpc.chain.timestampOf(number - 1)).toBeLessThan(head - 3_600)
  })
})

/** A bit that no topic of the filter has alone. */
const NO_LOGS_BLOOM = `0x${'0'.repeat(511)}1` as const

describe('an announced head', () => {
  const recent = { start: { kind: 'block', number: FINALIZED - 5 } } as const
  /** Follows up to some blocks below the last one, the last but one; `tell` gives the last one to the node, and says so. */
  async function almostThere(lag = 1, sincePollMs = 1_050) {
    rpc.chain.head = DAY.lastBlock - lag
    let onHead: (header?: Header) => void = () => {}
    let [trips, underWay] = [0, 0]
    const log = start({
      ...recent,
      watchHeads: (callback) => {
        onHead = callback
        return () => {}
      },
      async onFetch(answered, body) {
        // A call that fails is made again by itself, and these contracts know no balances.
        if (!/eth_getLogs|eth_getBlock/.test(body)) return
        if (underWay++ === 0) trips++
        await answered.catch(() => undefined)
        underWay--
      },
    })
    await untilHead(log)
    // Of what moved in the last block but one, balances are due with the last.
    const node = createClient({ transport: http(rpc.url) })
    rpc.chain.head = DAY.lastBlock
    const head = await getHead(node)
    const below = DAY.lastBlock - lag
    // A head within a second after a poll is read without another one.
    await sleep(sincePollMs)
    return {
      below,
      /** Gives blocks to the node, up to each of these, and tells of them one after the other, at once; resolves once the last is appended. */
      async tellAll(numbers: readonly number[], change = (headers: Header[]) => headers) {
        rpc.chain.head = DAY.lastBlock
        const headers = await Promise.all(numbers.map((number) => getHeader(node, number) as Promise<Header>))
        rpc.chain.head = numbers.at(-1) ?? below
        trips = 0
        for (const header of change(headers)) onHead(header)
        await untilHead(log)
        return { messages: log.messages, trips }
      },
      async tell(header: Partial<Header> = {}) {
        trips = 0
        onHead({ ...head, ...header })
        await untilHead(log)
        return { message: log.messages.at(-1) as Message, trips }
      },
      clean: async () => {
        await stop()
        return (await untilHead(start(recent))).at(-1)
      },
    }
  }

  test('a head is read in one round trip, and as without being announced', async () => {
    const { tell, clean } = await almostThere()
    const { message, trips } = await tell()
    expect(trips).toBe(1)
    expect(message).toEqual(await clean())
  })

  test('a head is read in one round trip with those that were announced while the listener was busy', async () => {
    const { below, tellAll, clean } = await almostThere(6)
    const { messages, trips } = await tellAll([1, 2, 3, 4, 5, 6].map((it) => below + it))
    expect(trips).toBe(1)
    expect(messages.slice(-6).map((message) => tipOf(message).number)).toEqual(
      [1, 2, 3, 4, 5, 6].map((it) => below + it),
    )
    expect(messages.at(-1)).toEqual(await clean())
  })

  test('a head is read in one round trip again after the listener fell out of step', async () => {
    const { below, tellAll, clean } = await almostThere(9)
    // Heads between were not announced: the node is asked for its chain.
    const behind = await tellAll([below + 3])
    expect(behind.trips).toBeGreaterThan(1)
    expect((await tellAll([below + 4, below + 5])).trips).toBe(1)
    expect((await tellAll([below + 6])).trips).toBe(1)
    expect((await tellAll([below + 7, below + 8, below + 9])).trips).toBe(1)
    expect((await untilHead({ messages: behind.messages } as ArrayLog)).at(-1)).toEqual(await clean())
  })

  test('a head is read as without a later announcement of a branch that was left', async () => {
    const { below, tellAll, clean } = await almostThere(3)
    const { messages } = await tellAll([below + 1, below + 2, below + 3], (headers) => [
      ...headers,
      { ...(headers[1] as Header), hash: madeUpHash(1, 2) },
    ])
    expect(messages.slice(-3).map((message) => tipOf(message).number)).toEqual([1, 2, 3].map((it) => below + it))
    expect(messages.at(-1)).toEqual(await clean())
  })

  test.each([
    ['without a bloom', '0x', false],
    ['without a bloom and proven', '0x', true],
    ['by whose bloom it has no logs', NO_LOGS_BLOOM, false],
    ['by whose bloom it has no logs, and proven', NO_LOGS_BLOOM, true],
  ] as const)('a head that no endpoint has is not stored on top of the tip: %s', async (_, logsBloom, isProven) => {
    const { below, tellAll, clean } = await almostThere(3, 0)
    const forged = (height: number) => (headers: Header[]) => [
      { ...(headers[0] as Header), hash: madeUpHash(height, 7), logsBloom, isProven },
    ]
    const { messages } = await tellAll([below + 1], forged(below + 1))
    expect(tipOf(messages.at(-1) as Message).hash).toBe(madeUpHash(below + 1))
    await tellAll([below + 2])
    // From then on no head is read without a poll.
    await tellAll([below + 3], forged(below + 3))
    const hashes = messages.slice(-3).map((message) => tipOf(message).hash)
    expect(hashes).toEqual([1, 2, 3].map((it) => madeUpHash(below + it)))
    expect(messages.at(-1)).toEqual(await clean())
  })

  test('a head within a second after a poll, beside another one of its number, is not read before the next poll', async () => {
    const { below, tellAll, clean } = await almostThere(1, 0)
    const { messages } = await tellAll([below + 1], ([head]) => [
      head as Header,
      { ...(head as Header), hash: madeUpHash(below + 1, 7) },
    ])
    expect(messages.filter((message) => tipOf(message).number === below + 1)).toEqual([await clean()])
  })

  test.each([
    ['on another branch', { hash: madeUpHash(1, 2) }],
    ['with an unknown parent', { parentHash: madeUpHash(1, 2) }],
    ['far ahead', { number: DAY.lastBlock + 9 }],
  ])('a head %s, which is not that of the node, changes nothing', async (_, told) => {
    const { tell, clean } = await almostThere()
    const { message } = await tell(told)
    expect(message).toEqual(await clean())
  })
})
