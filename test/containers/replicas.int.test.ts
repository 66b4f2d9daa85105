/**
 * Two replicas of ClickHouse with a Keeper, and three brokers: a recorded day goes in while a replica and a broker are killed. It needs the official
 * images: the engine of the stand-ins has no Keeper.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Ask, asker } from '../support/candlepool.ts'
import { inContainers } from '../support/containers.ts'
import { DAY } from '../support/recorded.ts'
import { recordedDayChain } from '../support/recorded-day.ts'
import { type RpcServer, startRpcServer } from '../support/rpc-server.ts'
import { until } from '../support/until.ts'
import { type Cluster, composeCluster, hostGateway } from './compose.ts'

const KEY = 'cp_key-of-the-replicas-in-containers'
const MIDDLE = DAY.firstBlock + 4_000
const PATIENCE_MS = 180_000
const isOfficial = process.env['CLICKHOUSE_IMAGE'] === undefined

describe.skipIf(!inContainers || !isOfficial)(
  'the replicas of infra/compose.replicas.yaml',
  { timeout: 300_000 },
  () => {
    let rpc: RpcServer
    let cluster: Cluster
    let ask: Ask

    beforeAll(async () => {
      rpc = await startRpcServer({ ...recordedDayChain({ finalized: MIDDLE - 40 }), head: MIDDLE }, hostGateway())
      const settings = {
        ETHEREUM_RPC_URL: `http://host.docker.internal:${new URL(rpc.url).port}`,
        ETHEREUM_START: String(DAY.firstBlock),
        BOOTSTRAP_API_KEY: KEY,
        CLICKHOUSE_PASSWORD: 'of-the-owner',
        CLICKHOUSE_API_PASSWORD: 'of-the-api',
        CLICKHOUSE_ACCOUNTS_PASSWORD: 'of-the-accounts',
        API_ADDRESS: '127.0.0.1:0',
        PROMETHEUS_ADDRESS: '127.0.0.1:0',
      }
      cluster = composeCluster(settings, ['compose.replicas.yaml'])
      await cluster.up()
      const { api } = await cluster.containers()
      ask = asker(api?.publishedAt ?? '', KEY)
    }, 600_000)

    afterEach(async ({ task }) => {
      if (task.result?.state === 'fail') console.log(await cluster.logs())
    })

    afterAll(async () => {
      await cluster?.down()
      await rpc?.stop()
    }, 120_000)

    const tipIs = (block: number) => async () => {
      type Health = { networks: { tip: { number: number } | null }[] }
      const { networks } = await ask<Health>('/v0/health')
      return networks[0]?.tip?.number === block ? true : undefined
    }
    const dayCandle = async () => {
      type Candle = Record<'open' | 'high' | 'low' | 'close' | 'volume', number>
      const day = '/v0/candles?symbol=WETH-USDC&interval=1d&from=2024-01-05&to=2024-01-06&price=spot'
      const { data } = await ask<{ data: Candle[] }>(day)
      return data[0]
    }
    const kill = async (service: string) => {
      const { [service]: container } = await cluster.containers()
      process.kill(container?.pid ?? 0, 'SIGKILL')
    }

    test('the day so far is stored', async () => {
      await until(tipIs(MIDDLE), 'the middle of the day is stored', PATIENCE_MS)
      expect((await dayCandle())?.open).toBeCloseTo(2269.745824, 6)
    })

    test.each(['clickhouse-2', 'clickhouse', 'kafka-2', 'keeper'])(
      'the day so far is answered with %s killed, and the next blocks are stored once it is back',
      async (service) => {
        const before = await dayCandle()
        await kill(service)
        expect(await until(dayCandle, 'the candle is answered')).toEqual(before)
        rpc.chain.head += 500
        await until(tipIs(rpc.chain.head), 'the next blocks are stored', PATIENCE_MS)
      },
    )

    test('the whole day is exact', async () => {
      rpc.chain.head = DAY.lastBlock
      rpc.chain.finalized = DAY.lastBlock - 40
      await until(tipIs(DAY.lastBlock), 'the day is stored', PATIENCE_MS)
      const candle = await dayCandle()
      expect(candle?.high).toBeCloseTo(2285.499059, 6)
      expect(candle?.close).toBeCloseTo(2269.369572, 6)
      expect(candle?.volume).toBe(246966136.903766)
    })
  },
)
