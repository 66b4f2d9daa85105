/** The whole cluster in containers: a recorded day of Ethereum goes in by JSON-RPC, and its candles come out over HTTP. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Ask, asker } from '../support/candlepool.ts'
import { inContainers } from '../support/containers.ts'
import { DAY, DAY_POOL } from '../support/recorded.ts'
import { recordedDayChain } from '../support/recorded-day.ts'
import { type RpcServer, startRpcServer } from '../support/rpc-server.ts'
import { until } from '../support/until.ts'
import { type Cluster, composeCluster, hostGateway, rightsOf } from './compose.ts'

const KEY = 'cp_key-of-the-cluster-in-containers'
const MIDDLE = DAY.firstBlock + 4_000
/** Containers are asked for their health every ten seconds. */
const PATIENCE_MS = 120_000
const STAGES = ['ingest', 'aggregator', 'api'] as const
const SERVERS = ['kafka', 'clickhouse', 'prometheus'] as const
const ALL = [...STAGES, ...SERVERS]

describe.skipIf(!inContainers)('the cluster of infra/compose.yaml', { timeout: 180_000 }, () => {
  let rpc: RpcServer
  let cluster: Cluster
  let ask: Ask

  beforeAll(async () => {
    // The day is not over yet.
    rpc = await startRpcServer({ ...recordedDayChain({ finalized: MIDDLE - 40 }), head: MIDDLE }, hostGateway())
    cluster = composeCluster({
      ETHEREUM_RPC_URL: `http://host.docker.internal:${new URL(rpc.url).port}`,
      ETHEREUM_START: String(DAY.firstBlock),
      // The recorded day has swaps only, no headers that re-compute.
      HEADER_PROOF: 'off',
      BOOTSTRAP_API_KEY: KEY,
      CLICKHOUSE_PASSWORD: 'of-the-owner',
      CLICKHOUSE_API_PASSWORD: 'of-the-api',
      CLICKHOUSE_ACCOUNTS_PASSWORD: 'of-the-accounts',
      // Any free port.
      API_ADDRESS: '127.0.0.1:0',
      PROMETHEUS_ADDRESS: '127.0.0.1:0',
    })
    await cluster.up().catch(async (error: unknown) => {
      console.log(await cluster.logs())
      throw error
    })
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

  const untilTip = (block: number) =>
    until(
      async () => {
        type Health = { networks: { tip: { number: number } | null }[] }
        const { networks } = await ask<Health>('/v0/health')
        return networks[0]?.tip?.number === block ? true : undefined
      },
      `block ${block} is stored`,
      PATIENCE_MS,
    )

  const dayCandle = async () => {
    type Candle = Record<'open' | 'high' | 'low' | 'close' | 'volume', number>
    const { data } = await ask<{ data: Candle[] }>(
      `/v0/candles?symbol=WETH-USDC&interval=1d&from=2024-01-05&to=2024-01-06&price=spot`,
    )
    expect(data).toHaveLength(1)
    return data[0]
  }

  const untilHealthy = () =>
    until(
      async () => {
        const containers = await cluster.containers()
        return ALL.every((service) => containers[service]?.health === 'healthy') ? true : undefined
      },
      'all are healthy',
      PATIENCE_MS,
    )

  test('every container is healthy, and the tables were made before', async () => {
    await untilHealthy()
    const { migrate } = await cluster.containers()
    expect(migrate).toMatchObject({ running: false, exitCode: 0 })
  })

  test('no container is root, has a capability, writes beside its data, or grows without limit', async () => {
    const containers = await cluster.containers()
    for (const service of ALL) {
      const container = containers[service]
      if (!container) throw new Error(`${service} does not run`)
      expect(container, service).toMatchObject({ readOnly: true, running: true, restarts: 0 })
      expect(container.memory, service).toBeGreaterThan(0)
      const { user, capabilities } = await rightsOf(container)
      expect(user, service).not.toBe(0)
      expect(capabilities, service).toBe(0n)
    }
  })

  test('the candles of the day so far are answered', async () => {
    await untilTip(MIDDLE)
    const candle = await dayCandle()
    expect(candle?.open).toBeCloseTo(2269.745824, 6)
  })

  test('an aggregator that is killed restarts and resumes', async () => {
    const before = (await cluster.containers())['aggregator']
    process.kill(before?.pid ?? 0, 'SIGKILL')
    rpc.chain.head = DAY.lastBlock
    rpc.chain.finalized = DAY.lastBlock - 40
    await untilTip(DAY.lastBlock)
    const after = (await cluster.containers())['aggregator']
    expect(after).toMatchObject({ running: true, restarts: 1 })
    expect(after?.pid).not.toBe(before?.pid)
  })

  test('the whole day is the candle that others have counted too', async () => {
    const candle = await dayCandle()
    expect(candle?.open).toBeCloseTo(2269.745824, 6)
    expect(candle?.high).toBeCloseTo(2285.499059, 6)
    expect(candle?.low).toBeCloseTo(2195.092195, 6)
    expect(candle?.close).toBeCloseTo(2269.369572, 6)
    expect(candle?.volume).toBe(246966136.903766)
    const { data } = await ask<{ data: object[] }>('/v0/pools?symbol=USDC-WETH')
    expect(data).toMatchObject([{ id: DAY_POOL, txCount: '6169' }])
  })

  test('a command runs in a container of its own: a key that it makes opens the API', async () => {
    const printed = await cluster.run('api', ['keys', 'create', '--plan', 'free', '--name', 'ann'])
    const [key = ''] = /cp_\S+/.exec(printed) ?? []
    const { api } = await cluster.containers()
    const askAsAnn = asker(api?.publishedAt ?? '', key)
    const usage = await until(() => askAsAnn<{ subscription_plan: string }>('/v0/usage'), 'the key is known')
    expect(usage.subscription_plan).toBe('free')
  })

  test('the page is bundled where nothing can be written', async () => {
    const { api } = await cluster.containers()
    const page = await fetch(`${api?.publishedAt}/`)
    const [, script = ''] = /<script[^>]+src="([^"]+)"/.exec(await page.text()) ?? []
    const bundle = await fetch(new URL(script, api?.publishedAt))
    expect(bundle.status).toBe(200)
    expect((await bundle.text()).length).toBeGreaterThan(50_000)
  })

  test('Prometheus scrapes all three', async () => {
    const { prometheus } = await cluster.containers()
    type Targets = { data: { activeTargets: { labels: { instance: string }; health: string }[] } }
    const expected = STAGES.map((stage) => `${stage}:9464 up`).sort()
    const look = async () => {
      const answer = await fetch(`${prometheus?.publishedAt}/api/v1/targets`)
      const { data } = (await answer.json()) as Targets
      const seen = data.activeTargets.map(({ labels, health }) => `${labels.instance} ${health}`).sort()
      return seen.join() === expected.join() ? true : undefined
    }
    await until(look, `Prometheus sees ${expected.join(', ')}`)
  })

  test('a backup is restored into another database, and all of it agrees there', async () => {
    expect(await cluster.run('api', ['backup', 'nightly'])).toContain('Saved as backups/nightly')
    const elsewhere = { CLICKHOUSE_DATABASE: 'restored' }
    expect(await cluster.run('api', ['restore', 'nightly'], elsewhere)).toContain('Restored from')
    const verified = await cluster.run('api', ['verify', '--network', 'ethereum'], elsewhere)
    expect(verified).toContain('everything agrees')
    expect(await cluster.run('api', ['status'], elsewhere)).toContain(String(DAY.lastBlock))
  })

  test('passwords are changed in the settings, and all processes use the new ones', async () => {
    await cluster.up({
      CLICKHOUSE_PASSWORD: 'another-of-the-owner',
      CLICKHOUSE_API_PASSWORD: 'another-of-the-api',
      CLICKHOUSE_ACCOUNTS_PASSWORD: 'another-of-the-accounts',
    })
    await untilHealthy()
    const { api, clickhouse } = await cluster.containers()
    ask = asker(api?.publishedAt ?? '', KEY)
    expect((await dayCandle())?.volume).toBe(246966136.903766)
    expect(clickhouse).toMatchObject({ running: true, restarts: 0 })
  })

  test('being stopped, all three end in order', async () => {
    await cluster.stop()
    const containers = await cluster.containers()
    for (const stage of STAGES) expect(containers[stage], stage).toMatchObject({ running: false, exitCode: 0 })
  })

  test('going down leaves nothing', async () => {
    expect(await cluster.remains()).not.toEqual([])
    await cluster.down()
    expect(await cluster.remains()).toEqual([])
  })
})
