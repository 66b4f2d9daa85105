/** `npm start` with nothing configured: a devnet, an engine and an API that answer, stop, resume, and survive a kill. */
import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readCheckpoint } from '../../aggregator/ledger/checkpoint.ts'
import { isEngineInstalled } from '../../infra/clickhouse/engine/engine.ts'
import { findStore } from '../../infra/clickhouse/store.ts'
import { currentStoreFolder } from '../../infra/config/folders.ts'
import { type Ask, asker, type Running, run, temporaryFolder, untilReady } from '../support/candlepool.ts'
import { inSoak } from '../support/sample.ts'
import { readiness, scrape, sum } from '../support/scrape.ts'
import { until } from '../support/until.ts'

type Candle = { time: string; open: number; high: number; low: number; close: number; volume: number }
type Candles = { data: Candle[]; credits_used: number; warning?: { message: string } }
type Ticks = { data: { id: string; timestamp: string; price: number; amountUSD: number }[] }
type Pools = { data: { id: string; protocolVersion: string; totalValueLockedUSD: string; liquidity: string }[] }
type Health = { networks: { network: string; devnet: boolean; tip: { number: number; hash: string } }[] }

describe.skipIf(!isEngineInstalled())('npm start, with nothing configured', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let main: Running
  let ask: Ask

  async function start(): Promise<{ url: string; key: string }> {
    main = run('start', { DATA_DIR: folder.path, PORT: '0', ADMIN_PORT: '0' }, [], { fromSource: true })
    const ready = await untilReady(main)
    ask = asker(ready.url, ready.key)
    return ready
  }

  beforeAll(async () => {
    folder = await temporaryFolder()
  })

  afterAll(async () => {
    await main?.stop()
    await folder?.remove()
  })

  test('ends its start-up with a curl line that works', async () => {
    const { url, key } = await start()
    const [line = '', header = '', address = ''] = /curl -s -H '([^']+)' '([^']+)'/.exec(main.output()) ?? []
    expect(line).not.toBe('')
    const [name = '', value = ''] = header.split(': ')
    const answer = await fetch(address, { headers: { [name]: value } })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-candlepool-devnet')).toBe('true')
    expect(((await answer.json()) as Candles).data).toHaveLength(3)
    expect(main.output()).toMatch(/DEVNET/)
    const [, code = ''] = /Page {2}\S+\/#code=([\w-]+)\n/.exec(main.output()) ?? []
    const exchange = () => fetch(`${url}/page/code`, { method: 'POST', headers: { 'X-Page-Code': code } })
    expect(await (await exchange()).json()).toEqual({ key })
    expect((await exchange()).status).toBe(401)
  })

  test('says meanwhile what it does', () => {
    const kinds = [...main.output().matchAll(/"kind":"([\w-]+)"/g)].map(([, kind]) => kind)
    const steps = ['devnet-begins', 'devnet-deployed', 'devnet-history', 'devnet-started', 'engine-starting']
    const order = [...steps, 'engine-started', 'tables-ready', 'server-listening', 'first-data'].map((kind) =>
      kinds.indexOf(kind),
    )
    expect(order).toEqual([...order].sort((one, other) => one - other))
    expect(order).not.toContain(-1)
  })

  test('answers candles, pools, ticks and usage with real values', async () => {
    const candles = await ask<Candles>('/v0/candles?symbol=WETH-USDC&interval=15m&limit=20')
    expect(candles.data).toHaveLength(20)
    for (const { open, high, low, close, volume } of candles.data) {
      expect(low).toBeLessThanOrEqual(Math.min(open, close))
      expect(high).toBeGreaterThanOrEqual(Math.max(open, close))
      expect(low).toBeGreaterThan(500)
      expect(volume).toBeGreaterThanOrEqual(0)
    }
    expect(candles.warning?.message).toBeTruthy()
    const pools = await ask<Pools>('/v0/pools?symbol=ETH-USDC')
    expect(new Set(pools.data.map((pool) => pool.protocolVersion))).toEqual(new Set(['dex-v3', 'dex-v4']))
    for (const pool of pools.data) {
      expect(Number(pool.totalValueLockedUSD)).toBeGreaterThan(1_000_000)
      expect(BigInt(pool.liquidity)).toBeGreaterThan(0n)
    }
    const ticks = await ask<Ticks>('/v0/ticks?symbol=WETH-DAI&limit=50')
    expect(ticks.data.length).toBeGreaterThan(0)
    for (const tick of ticks.data) expect(tick.amountUSD).toBeGreaterThan(0)
    const usage = await ask<{ credits: { month: { used: number } }; subscription_plan: string }>('/v0/usage')
    expect(usage.subscription_plan).toBe('operator')
    expect(usage.credits.month.used).toBeGreaterThan(0)
  })

  test('knows its tokens by their names, a bytes32 symbol and native currency too', async () => {
    for (const pair of ['MKR-WETH', 'WBTC-ETH', 'DAI-USDC', 'ETH-DAI']) {
      const { data } = await ask<Candles>(`/v0/candles?symbol=${pair}&interval=1h&limit=2`)
      expect({ pair, candles: data.length }).toEqual({ pair, candles: 2 })
    }
  })

  test('other commands work beside it', async () => {
    const make = run('keys', { DATA_DIR: folder.path }, ['create', '--plan', 'free', '--name', 'beside'])
    const [key = ''] = await make.untilPrinted(/cp_\S+/)
    const [, url = ''] = /API {3}(\S+)\/v0/.exec(main.output()) ?? []
    const usage = await until(() => asker(url, key)<{ subscription_plan: string }>('/v0/usage'), 'the new key opens')
    expect(usage.subscription_plan).toBe('free')
    await run('status', { DATA_DIR: folder.path }).untilPrinted(/ethereum +- +\d+ .* none /)
  })

  test('is ready, and tells its metrics from the chain to the answer', async () => {
    const port = Number((await main.untilPrinted(/"port":(\d+),"msg":"admin listening/))[1])
    const ready = await until(async () => {
      const { status, body } = await readiness(port)
      return status === 200 ? body : undefined
    }, 'it is ready')
    expect(ready).toEqual({ status: 'ready', reasons: [], standingBy: [] })
    const { samples } = await scrape(port)
    const of = (name: string) => sum(samples, name, { network: 'ethereum' }) ?? 0
    const { networks } = await ask<Health>('/v0/health')
    expect(of('candlepool_chain_head_block')).toBeGreaterThan(1_000)
    expect(of('candlepool_chain_head_block') - of('candlepool_stored_block')).toBeLessThan(5)
    expect(Math.abs((networks[0]?.tip.number ?? 0) - of('candlepool_stored_block'))).toBeLessThan(5)
    expect(of('candlepool_stored_lag_seconds')).toBeLessThan(60)
    for (const part of ['blocks', 'ticks']) {
      expect(of(`candlepool_stored_${part}_total`)).toBeGreaterThan(1_000)
      const between = of(`candlepool_appended_${part}_total`) - of(`candlepool_stored_${part}_total`)
      expect(between).toBeLessThan(500)
    }
    expect(of('candlepool_rpc_calls_total')).toBeGreaterThan(10)
    expect(of('candlepool_flush_seconds_count')).toBeGreaterThan(0)
    expect(of('candlepool_messages_rejected_total')).toBe(0)
    expect(of('candlepool_stalled')).toBe(0)
    expect(
      sum(samples, 'candlepool_http_request_seconds_count', { route: '/v0/candles', status: '200' }),
    ).toBeGreaterThan(5)
    expect(sum(samples, 'candlepool_credits_charged_total', { plan: 'operator' })).toBeGreaterThan(5)
    expect(sum(samples, 'candlepool_store_disk_free_bytes')).toBeGreaterThan(0)
  })

  test('stored blocks are surely on the disk a little later', async () => {
    const dataDir = folder.path
    const place = await currentStoreFolder({ dataDir, chain: { kind: 'devnet' } })
    const store = await findStore({ store: { kind: 'embedded' } }, place ?? dataDir)
    if (!store) throw new Error('It runs an engine.')
    const { networks } = await ask<Health>('/v0/health')
    const tip = networks[0]?.tip.number ?? 0
    const settled = async () => (await readCheckpoint(store.owner, 'ethereum'))?.number ?? -1
    await until(async () => (await settled()) >= tip || undefined, 'it is settled')
    await store.close()
  })

  test('Ctrl-C stops every child, and the next start resumes there', async () => {
    const before = await ask<Health>('/v0/health')
    const tip = before.networks[0]?.tip.number ?? 0
    const range = '/v0/ticks?symbol=WETH-USDC&limit=1000'
    const seen = (await ask<Ticks>(range)).data
    const children = descendantsOf(main.pid)
    expect(children.length).toBeGreaterThanOrEqual(2)
    expect(await main.stop()).toBe(0)
    expect(children.filter(isAlive)).toEqual([])

    await start()
    await until(async () => {
      const { networks } = await ask<Health>('/v0/health')
      return (networks[0]?.tip.number ?? 0) > tip ? true : undefined
    }, 'the chain grows')
    const { data } = await ask<Ticks>(range)
    expect(new Set(data.map((tick) => tick.id)).size).toBe(data.length)
    // What was there is there still, in the same order, but for what has left the window of an hour or the limit meanwhile.
    const kept = seen.filter((tick) => data.some((other) => other.id === tick.id))
    expect(data.slice(0, kept.length)).toEqual(kept)
    expect(kept.length).toBeGreaterThan(seen.length / 2)
  })

  test('killed without warning, it leaves no child behind, and the next start answers', async () => {
    const children = descendantsOf(main.pid)
    await main.stop('SIGKILL')
    await until(async () => (children.some(isAlive) ? undefined : true), 'its children are gone')
    await start()
    expect((await ask<Candles>('/v0/candles?symbol=WETH-USDC&interval=1m')).data).toHaveLength(5)
  })

  test('a second one on the same folder is refused, names the first, and leaves its chain alone', async () => {
    const tip = (await ask<Health>('/v0/health')).networks[0]?.tip.number ?? 0
    const second = run('start', { DATA_DIR: folder.path, PORT: '0' })
    expect(await second.exited).toBe(1)
    expect(second.output()).toContain(`the data folder ${folder.path} is in use by process ${main.pid}`)
    await until(async () => {
      const { networks } = await ask<Health>('/v0/health')
      return (networks[0]?.tip.number ?? 0) > tip ? true : undefined
    }, 'the chain grows')
  })

  test('one that fails says why: another process has its port', inSoak, async () => {
    const other = await temporaryFolder()
    const [, port = ''] = /API {3}\S+:(\d+)\/v0/.exec(main.output()) ?? []
    const failing = run('start', { DATA_DIR: other.path, PORT: port })
    expect(await failing.exited).toBe(1)
    expect(failing.output()).toMatch(new RegExp(`EADDRINUSE.*${port}|port ${port}.*taken`))
    expect(failing.output()).not.toMatch(/node ended/)
    await other.remove()
  })

  test(
    'when the node is killed, the lost chain is replaced by another one, and a new store is begun beside the old',
    inSoak,
    async () => {
      const before = main
      const node = descendantsOf(main.pid).find((pid) => commandOf(pid).includes('anvil'))
      expect(node).toBeDefined()
      process.kill(node ?? 0, 'SIGKILL')
      expect(await before.stop('SIGCONT')).toBe(1)
      expect(before.output()).toMatch(/The devnet node ended: SIGKILL/)
      await start()
      expect(main.output()).toMatch(/another devnet/)
      expect((await ask<Candles>('/v0/candles?symbol=WETH-USDC&interval=1m')).data).toHaveLength(5)
    },
  )
})

/** Children, grandchildren and so on: those in process groups of their own too. */
function descendantsOf(pid: number): number[] {
  const processes = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number) as [number, number])
  const of = (parent: number): number[] =>
    processes.filter(([, ppid]) => ppid === parent).flatMap(([child]) => [child, ...of(child)])
  return of(pid).filter((child) => !commandOf(child).startsWith('ps '))
}

function commandOf(pid: number): string {
  try {
    return execFileSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' })
  } catch {
    return ''
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).startsWith('Z')
  } catch {
    return false
  }
}
