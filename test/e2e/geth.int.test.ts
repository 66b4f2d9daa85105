/** go-ethereum's own node on a chain of id 1: forks, kills and its limits. The tables have the swaps of the chain. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backfill } from '../../ingest/backfill/backfill.ts'
import type { Network } from '../../ingest/model/network.ts'
import { deployMarkets, type TestMarkets } from '../support/anvil.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { findGeth } from '../support/geth.ts'
import { type GethChain, startGethChain } from '../support/geth-chain.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'
import { sample } from '../support/sample.ts'
import { swapsInReceipts, swapsInTables } from './chain-swaps.ts'

const GETH = await findGeth()
/** The first blocks have three swaps each; `GETH_BLOCKS=1000` mines that many. */
const FIRST_BLOCKS = sample('GETH_BLOCKS', 3, 400)
if (GETH === undefined) console.log('go-ethereum: none, set GETH to its program')

describe.skipIf(withoutClickHouse || GETH === undefined)('go-ethereum', () => {
  let node: GethChain
  let markets: TestMarkets
  let network: Network
  let trades = 0

  beforeAll(async () => {
    node = await startGethChain(GETH ?? '')
    markets = await deployMarkets(node)
    network = { ...markets.network, chainId: 1, devnet: false }
  })

  afterAll(() => node?.stop())

  /** Blocks with three swaps each, in all pools in turn. */
  async function trade(blocks: number) {
    const pools = markets.markets.filter(({ token0, token1 }) => ![token0.symbol, token1.symbol].includes('NODEC'))
    for (let block = 0; block < blocks; block++) {
      for (let swap = 0; swap < 3; swap++) {
        const market = pools[trades++ % pools.length]
        if (!market) throw new Error('There are no pools.')
        const zeroForOne = trades % 4 < 2
        const { decimals } = zeroForOne ? market.token0 : market.token1
        await markets.swap(market, { zeroForOne, amount: 10n ** BigInt(decimals) })
      }
      await node.mine()
    }
    return node.block('latest')
  }

  /** The count of swaps that the chain and the tables have alike. */
  async function compared(database: TestDatabase, from = 0): Promise<number> {
    const { number: to } = await node.block('latest')
    const swaps = await swapsInReceipts(node.httpUrl, { from, to })
    expect(await swapsInTables(database, { from, to })).toEqual(swaps)
    return swaps.length
  }

  describe('read by listeners over HTTP, WebSocket and both', () => {
    const listeners: { name: string; urls(): string[]; database: TestDatabase; pipeline: Pipeline }[] = []

    beforeAll(async () => {
      for (const [name, urls] of [
        ['http', () => [node.httpUrl]],
        ['ws', () => [node.wsUrl]],
        ['both', () => [node.httpUrl, node.wsUrl]],
      ] as const) {
        const database = await freshDatabase()
        listeners.push({ name, urls, database, pipeline: await openPipeline({ network, url: urls(), database }) })
      }
    })

    afterAll(async () => {
      await Promise.all(listeners.map(({ pipeline }) => pipeline.stop()))
      await Promise.all(listeners.map(({ database }) => database.drop()))
    })

    async function untilAllStored(block: { number: number; hash: `0x${string}` }) {
      await Promise.all(listeners.map(({ pipeline }) => pipeline.untilStored(block)))
    }

    test('the tables follow forks of one to six blocks', { timeout: 180_000 + FIRST_BLOCKS * 1_000 }, async () => {
      await untilAllStored(await trade(FIRST_BLOCKS))
      for (const depth of [1, 3, 6]) {
        const snapshot = await node.snapshot()
        await untilAllStored(await trade(depth))
        // `debug_setHead`: the node has a shorter chain for a while.
        await node.revert(snapshot)
        await untilAllStored(await trade(depth + 1))
      }
      for (const { database } of listeners) await compared(database)
    })

    test('the tables return to a branch that was left', async () => {
      const snapshot = await node.snapshot()
      const left = await trade(2)
      await untilAllStored(left)
      await node.revert(snapshot)
      await untilAllStored(await trade(3))
      await node.returnTo(left.hash)
      await untilAllStored(await trade(1))
      for (const { database } of listeners) await compared(database)
    })

    test('a listener resumes after the node was killed', async () => {
      await node.geth.restart()
      await node.chain.readNonces()
      await untilAllStored(await trade(2))
      for (const { name, database } of listeners) {
        const count = await compared(database)
        expect(count).toBeGreaterThan(30)
        console.log(
          `go-ethereum over ${name}: ${count} swaps of ${(await node.block('latest')).number} blocks are alike`,
        )
      }
    })
  })

  describe.each([
    ['--rpc.batch-request-limit', '5'],
    ['--rpc.rangelimit', '7'],
    ['--history.logs', '10'],
    ['--history.logs.disable'],
  ])('with %s', (...flags) => {
    let database: TestDatabase
    let pipeline: Pipeline

    beforeAll(async () => {
      await node.geth.restart(flags)
      await node.chain.readNonces()
      database = await freshDatabase()
    })

    afterAll(async () => {
      await pipeline?.stop()
      await database?.drop()
    })

    test('a listener from an empty store and a backfill read all swaps', async () => {
      const { number: half } = await node.block('finalized')
      pipeline = await openPipeline({ network, url: [node.httpUrl], database, firstBlock: half })
      await pipeline.untilStored(await trade(2))
      const early = { from: 1, to: half - 1 }
      await backfill(pipeline.endpoints, {
        ...{ network, job: 1, ranges: [early], pools: undefined, concurrency: 4, log: pipeline.history },
        report: (fact) => pipeline.facts.push(fact),
        signal: AbortSignal.timeout(50_000),
      })
      console.log(`go-ethereum with ${flags.join(' ')}: ${await compared(database)} swaps are alike`)
    })
  })
})
