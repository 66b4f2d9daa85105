/** `npm run api` with API_PROCESSES: one start, several processes, one port. */
import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createKey } from '../../../api/accounts/keys.ts'
import { openStore, type Store } from '../../../infra/clickhouse/store.ts'
import { Usage } from '../../api/body.ts'
import { minute, POOLS, storeScenario } from '../../api/scenario.ts'
import { asker, type Running, run } from '../../support/candlepool.ts'
import { withoutClickHouse } from '../../support/clickhouse.ts'
import { freePorts } from '../../support/free-ports.ts'
import { readiness, scrape, sum } from '../../support/scrape.ts'
import { type Shards, startShards } from '../../support/shards.ts'
import { until } from '../../support/until.ts'

const PROCESSES = 3
const QUESTION = `/v0/candles?pool=${POOLS.main.id}&interval=1h&limit=1&to=${new Date(minute(121) * 1_000).toISOString()}`

describe.skipIf(withoutClickHouse)('several API processes behind one port', () => {
  let shards: Shards
  let store: Store
  let api: Running
  let adminPort = 0
  let url = ''
  let key = ''

  beforeAll(async () => {
    shards = await startShards(2)
    store = await openStore({ store: shards.config }, '', () => {})
    await storeScenario(store.owner)
    key = await createKey({ client: store.owner, plan: 'operator', name: 'several' })
    ;[adminPort] = (await freePorts(1)) as [number]
    api = start({ PORT: '0', ADMIN_PORT: String(adminPort) })
    const [, port] = await api.untilPrinted(/"port":(\d+),"msg":"server listening/)
    url = `http://127.0.0.1:${port}`
    await until(async () => (listening().length === PROCESSES ? true : undefined), 'all of them listen')
  })
  afterAll(async () => {
    await api?.stop('SIGKILL')
    await store?.close()
    await shards?.stop()
  })

  function start(environment: Record<string, string>): Running {
    return run('api', {
      ...shards.environment,
      NETWORKS: 'ethereum',
      API_PROCESSES: String(PROCESSES),
      LOG_LEVEL: 'debug',
      ...environment,
    })
  }
  /** By log lines of this kind: the values of a field. */
  const logged = (kind: string, field: 'process' | 'pid') =>
    api
      .output()
      .split('\n')
      .filter((line) => line.includes(`"kind":"${kind}"`))
      .map((line) => Number((JSON.parse(line) as Record<string, unknown>)[field]))
  const listening = () => logged('api-process-listening', 'process')

  const askAtOnce = <Body>(count: number, path: string): Promise<Body[]> =>
    Promise.all(Array.from({ length: count }, () => asker(url, key)<Body>(path)))

  async function askOften(count: number): Promise<number> {
    const answers = await askAtOnce<{ credits_used: number }>(count, QUESTION)
    return answers.reduce((total, { credits_used }) => total + credits_used, 0)
  }

  test('all of them answer, count on one account, and are counted in one /metrics', async () => {
    const spent = await askOften(60)
    const answering = () => [...new Set(logged('request-answered', 'pid'))].sort()
    await expect.poll(answering).toEqual(listening().sort())
    const used = async () => Usage.parse(await asker(url, key)('/v0/usage')).credits.month.used
    await expect.poll(used).toBe(spent)
    const { samples } = await scrape(adminPort)
    const answered = { route: '/v0/candles', status: '200' }
    expect(sum(samples, 'candlepool_http_request_seconds_count', answered)).toBe(60)
    expect(sum(samples, 'candlepool_credits_charged_total', { plan: 'operator' })).toBe(spent)
    expect(sum(samples, 'candlepool_store_disk_free_bytes')).toBeGreaterThan(0)
  })

  test('one that is killed is started again, and is not ready until then', async () => {
    const before = listening()
    const [killed = 0] = before
    process.kill(killed, 'SIGKILL')
    await api.untilPrinted(new RegExp(`"kind":"api-process-ended","process":${killed},"reason":"SIGKILL"`))
    const { body } = await readiness(adminPort)
    expect(body.reasons).toContain('2 of 3 API processes answer: the others are started.')
    await askOften(10)
    await until(async () => (listening().length > before.length ? true : undefined), 'another one listens')
    expect((await readiness(adminPort)).body.reasons).not.toContainEqual(expect.stringContaining('API processes'))
    await askOften(10)
  })

  test('all stop in order at SIGTERM', async () => {
    // Few, and answered from memory: a stop waits for some seconds, in which a busy machine answers no more.
    const running = askAtOnce(50, '/v0/health')
    await new Promise((resolve) => setTimeout(resolve, 5))
    const stopped = api.stop('SIGTERM')
    await running
    expect(await stopped).toBe(0)
    for (const one of listening()) expect(() => process.kill(one, 0)).toThrow('ESRCH')
  })

  test('a port that another process has fails the start', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => other.once('listening', resolve))
    const { port } = other.address() as { port: number }
    const failed = start({ PORT: String(port) })
    expect(await failed.exited).toBe(1)
    expect(failed.output()).toContain(`PORT is ${port}, and port ${port} of 127.0.0.1 is taken`)
    expect(failed.output()).toContain('An API process ended before it listened')
    other.close()
  })
})
