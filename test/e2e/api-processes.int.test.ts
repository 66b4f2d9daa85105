/** `npm run api` several times over the same tables: whichever is asked, the answer is the same, and so are the credits. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createKey } from '../../api/accounts/keys.ts'
import { PLANS } from '../../api/lib/plan.ts'
import { openStore, type Store } from '../../infra/clickhouse/store.ts'
import { Usage } from '../api/body.ts'
import { buyEther, minute, POOLS, storeScenario, TIP } from '../api/scenario.ts'
import { asker, type Running, run } from '../support/candlepool.ts'
import { withoutClickHouse } from '../support/clickhouse.ts'
import { inSoak } from '../support/sample.ts'
import { type Shards, startShards } from '../support/shards.ts'
import { block, openStore as openTicks } from '../support/store.ts'

const KEY = 'a-key-of-the-operator'
const PROCESSES = 5
/** Part of util-linux. */
const canLimit = existsSync('/usr/bin/prlimit')
const at = (minutes: number) => new Date(minute(minutes) * 1_000).toISOString()
const QUESTIONS = [
  `/v0/candles?pool=${POOLS.main.id}&interval=1m&limit=100&to=${at(130)}`,
  `/v0/candles?pool=${POOLS.side.id}&interval=7m&limit=100&to=${at(130)}`,
  `/v0/candles?symbol=WETH-USDC&interval=1h&networks=ethereum&to=${at(130)}`,
  `/v0/ticks?pool=${POOLS.main.id}&limit=1000&from=${at(0)}&to=${at(130)}`,
  '/v0/pools?symbol=WETH-USDC',
]

describe.skipIf(withoutClickHouse)('several processes of the API', () => {
  let shards: Shards
  let store: Store
  let processes: Running[] = []
  let urls: string[] = []

  beforeAll(async () => {
    shards = await startShards(2)
    store = await openStore({ store: shards.config }, '', () => {})
    await storeScenario(store.owner)
    const environment = { ...shards.environment, NETWORKS: 'ethereum,arbitrum', PORT: '0', BOOTSTRAP_API_KEY: KEY }
    processes = Array.from({ length: PROCESSES }, () => run('api', environment))
    urls = await Promise.all(
      processes.map(async (one) => `http://127.0.0.1:${(await one.untilPrinted(/"port":(\d+)/))[1]}`),
    )
  })
  afterAll(async () => {
    await Promise.all(processes.map((one) => one.stop('SIGKILL')))
    await store?.close()
    await shards?.stop()
  })

  let spent = 0
  async function askOne(url: string, path: string): Promise<unknown> {
    const answer = await asker(url, KEY)<{ data?: unknown; credits_used: number }>(path)
    spent += answer.credits_used
    return answer.data
  }
  /** The answer of each process to one request. */
  const askAll = (path: string) => Promise.all(urls.map((url) => askOne(url, path)))

  test('give the same answers, from the tables and from memory', async () => {
    for (const question of [...QUESTIONS, ...QUESTIONS]) {
      const [first, ...others] = await askAll(question)
      expect(first, question).toBeDefined()
      for (const other of others) expect(other, question).toEqual(first)
    }
  })

  test('all see within a second or two what is written, whatever they held', async () => {
    const question = `/v0/candles?pool=${POOLS.main.id}&interval=1m&limit=1&to=${at(121)}`
    const closes = async () => (await askAll(question)).map((data) => (data as { close: number }[])[0]?.close)
    const before = await closes()
    expect(before).toEqual([expect.any(Number), ...Array(PROCESSES - 1).fill(before[0])])
    await openTicks(
      store.owner,
      'ethereum',
    )([block(121, TIP + 12, { ticks: [buyEther(POOLS.main, 10n ** 18n, 3_333n)] })])
    await expect.poll(closes).not.toContain(before[0])
    expect(new Set(await closes()).size).toBe(1)
  })

  test('serve a key that hammers all of them no more than the limit of its minute', async () => {
    const key = await createKey({ client: store.owner, plan: 'free', name: 'hammering' })
    const question = `/v0/candles?pool=${POOLS.main.id}&interval=1h&limit=1&to=${at(121)}`
    const minuteNow = () => Math.floor(Date.now() / 60_000)
    const begun = minuteNow()
    let [served, refused] = [0, 0]
    async function hammer(url: string): Promise<void> {
      for (let round = 0; round < 5; round++) {
        const answers = Array.from({ length: 40 }, () => fetch(`${url}${question}`, { headers: { 'X-API-KEY': key } }))
        for (const answer of await Promise.all(answers)) {
          if (answer.status === 200) served += ((await answer.json()) as { credits_used: number }).credits_used
          // The counts of the others may take too long to read.
          else if ([429, 503].includes(answer.status)) refused += 1
          else throw new Error(`${answer.status} ${await answer.text()}`)
        }
      }
    }
    await Promise.all(urls.map(hammer))
    expect(refused).toBeGreaterThan(PROCESSES * 100)
    expect(served).toBeGreaterThanOrEqual(PLANS.free.minute * 0.9)
    expect(served).toBeLessThanOrEqual(PLANS.free.minute * (minuteNow() - begun + 1))
  })

  test(
    'grant 300 parallel requests of each of three minutes no more than the limit, and a lone client all of it',
    inSoak,
    async () => {
      const key = await createKey({ client: store.owner, plan: 'free', name: 'parallel' })
      const limit = PLANS.free.minute
      const paths = ['/v0/pools?symbol=WETH-USDC', `/v0/candles?symbol=WETH-USDC&interval=1h&networks=ethereum&limit=1`]
      const credits = async (url: string, path: string) => {
        const answer = await fetch(`${url}${path}`, { headers: { 'X-API-KEY': key } })
        if (answer.status !== 200 && answer.status !== 429) throw new Error(`${answer.status} ${await answer.text()}`)
        return answer.status === 200 ? ((await answer.json()) as { credits_used: number }).credits_used : 0
      }
      for (let minute = 0; minute < 3; minute++) {
        await nextMinute()
        const granted = await Promise.all(
          Array.from({ length: 300 }, (_, request) =>
            credits(urls[request % PROCESSES] ?? '', paths[minute % 2] ?? ''),
          ),
        )
        const sum = granted.reduce((total, one) => total + one, 0)
        console.log(
          `${granted.length} parallel requests: ${sum} of ${limit} credits, ${granted.filter((one) => one > 0).length} answers`,
        )
        expect(sum).toBe(limit)
      }
      for (const parallel of [1, limit]) {
        await nextMinute()
        // Each of the others has claimed credits as well.
        const others = await Promise.all(urls.slice(1).map((url) => credits(url, paths[0] ?? '')))
        let left = limit - others.reduce((total, one) => total + one, 0)
        const [lone = ''] = urls
        const asked = left
        const free = performance.now()
        for (let request = 0; request < asked; request += parallel)
          await Promise.all(Array.from({ length: Math.min(parallel, asked) }, () => askOne(lone, paths[0] ?? '')))
        const began = performance.now()
        for (let tries = 0; tries < asked; tries += parallel) {
          const batch = Array.from({ length: Math.min(parallel, asked - tries) }, () => credits(lone, paths[0] ?? ''))
          for (const granted of await Promise.all(batch)) left -= granted
        }
        const [plain, limited] = [began - free, performance.now() - began].map(Math.round)
        console.log(
          `${asked} requests, ${parallel} at once: all credits after ${limited} ms; ${plain} ms far from a limit`,
        )
        expect(left).toBe(0)
      }
    },
  )

  /** A second after its start. */
  async function nextMinute(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 61_000 - (Date.now() % 60_000)))
  }

  test('count on one account, and nothing is lost with one that stops', async () => {
    const used = async (url: string) => Usage.parse(await asker(url, KEY)('/v0/usage')).credits.month.used
    const everywhere = (those: string[]) => expect.poll(() => Promise.all(those.map(used)))
    const question = `/v0/candles?pool=${POOLS.main.id}&interval=1h&limit=1&to=${at(121)}`
    for (let round = 0; round < 4; round++) await askAll(question)
    await everywhere(urls).toEqual(urls.map(() => spent))
    const [stopped = '', ...left] = urls
    await askOne(stopped, question)
    expect(await processes[0]?.stop('SIGTERM')).toBe(0)
    await everywhere(left).toEqual(left.map(() => spent))
  })

  test.skipIf(!canLimit)('one whose file handles are used up answers again once some are free', async () => {
    // The first one is stopped.
    const [, process] = processes
    const [, url = ''] = urls
    const { hostname, port } = new URL(url)
    const handles = async () => (await readdir(`/proc/${process?.pid}/fd`)).length
    const before = await handles()
    execFileSync('prlimit', ['--pid', String(process?.pid), `--nofile=${before + 20}`])
    const sockets = Array.from({ length: 100 }, () => connect(Number(port), hostname).on('error', () => {}))
    await Promise.all(sockets.map((socket) => Promise.race([once(socket, 'connect'), once(socket, 'close')])))
    // Node takes a connection that it has no handle for, and closes it.
    await expect.poll(() => sockets.filter(({ destroyed }) => destroyed).length).toBeGreaterThan(50)
    for (const socket of sockets) socket.destroy()
    await expect.poll(handles).toBeLessThanOrEqual(before)
    await expect.poll(() => askOne(url, QUESTIONS[0] ?? '').catch(() => undefined)).toBeDefined()
    expect(process?.output()).not.toContain('EMFILE')
  })
})
