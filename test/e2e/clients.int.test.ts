/** The TypeScript and the Python client beside one `npm start`. Python's tests need Python and PyPI. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AnsweredCandle,
  type AnsweredTick,
  CandlepoolError,
  createClient,
  FoldedRows,
} from '../../api/extras/clients/typescript/src/client.ts'
import { FoldedStream } from '../client/event-stream.ts'
import { type Running, run, temporaryFolder, untilReady } from '../support/candlepool.ts'
import { openCheckout } from '../support/checkout.ts'
import { withoutClickHouse } from '../support/clickhouse.ts'
import { commandsOf } from '../support/commands.ts'
import { ROOT } from '../support/files.ts'
import { inSoak } from '../support/sample.ts'

const PAIR = 'WETH-USDC'
const HOUR_MS = 3_600_000
const execute = promisify(execFile)

describe.skipIf(withoutClickHouse || process.env['CLICKHOUSE_URL'] !== undefined)('clients', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let main: Running
  let url: string
  let key: string
  let freeKey: string

  beforeAll(async () => {
    folder = await temporaryFolder()
    main = run('start', { DATA_DIR: folder.path, PORT: '0' })
    ;({ url, key } = await untilReady(main))
    const created = run('keys', { DATA_DIR: folder.path }, ['create', '--plan', 'free', '--name', 'clients'])
    await created.exited
    freeKey = /cp_[\w-]{16,}/.exec(created.output())?.[0] ?? ''
  })
  afterAll(async () => {
    await main?.stop()
    await folder?.remove()
  })

  const client = (more: { key?: string; retries?: number } = {}) => createClient({ url, key, ...more })
  /** Ends a minute before the tip, so that new blocks do not change it. */
  async function closedRange(hours: number): Promise<{ from: string; to: string }> {
    const [network] = (await client().health()).networks
    const end = Math.floor(Date.parse(network?.tip?.time ?? '') / 60_000 - 1) * 60_000
    return { from: new Date(end - hours * HOUR_MS).toISOString(), to: new Date(end).toISOString() }
  }

  test('TypeScript: pages of ticks have each one once, and fold to the pages of candles', async () => {
    // A whole number of pages: the last one ends where the range begins.
    const range = await closedRange(5)
    const { pool } = await client().candles({ symbol: PAIR, interval: '1m' })
    const ticks: AnsweredTick[] = []
    for await (const page of client().tickPages({ pool, ...range, include: 'position' })) ticks.unshift(...page.rows)
    expect(ticks.length).toBeGreaterThan(1_000)
    const places = ticks.map(({ block = 0, logIndex = 0 }) => block * 1e6 + logIndex)
    expect(places).toEqual([...new Set(places)].sort((one, other) => one - other))
    const candles: AnsweredCandle[] = []
    for await (const page of client().candlePages({ pool, interval: '1m', ...range })) candles.unshift(...page.rows)
    expect(candles.length).toBeGreaterThan(100)
    expect(new Set(candles.map(({ time }) => time)).size).toBe(candles.length)
    const volume = candles.reduce((sum, candle) => sum + candle.volume, 0)
    expect(ticks.reduce((sum, { amount1 }) => sum + Math.abs(Number(amount1)), 0)).toBeCloseTo(volume, 3)
    expect(ticks.at(-1)?.price).toBe(candles.at(-1)?.close)
  })

  test('TypeScript: lists of pools are read page by page', async () => {
    const whole = await client().topPools({ sort: 'value', limit: 100 })
    expect(whole.next_cursor).toBeNull()
    const first = await client().topPools({ sort: 'value', limit: 1 })
    const rest = first.next_cursor && (await client().topPools({ sort: 'value', limit: 99, cursor: first.next_cursor }))
    const ids = [...first.data, ...(rest ? rest.data : [])].map(({ id }) => id)
    expect(ids).toEqual(whole.data.map(({ id }) => id))
    expect(ids.length).toBeGreaterThan(1)
    expect((await client().newPools({ maxAge: '1h' })).credits_used).toBe(1)
  })

  test('TypeScript: fetchOHLCV has any number of bars from `since` on', async () => {
    const { from } = await closedRange(4)
    const since = Date.parse(from)
    const bars = await client().fetchOHLCV('WETH/USDC', '1m', since, 150)
    expect(bars.map(([time]) => time)).toEqual(Array.from({ length: 150 }, (_, index) => since + index * 60_000))
    const newest = await client().fetchOHLCV('WETH/USDC', '1m', undefined, 3)
    expect(newest).toHaveLength(3)
    await expect(client().fetchOHLCV('WETH/USDC', '1w')).rejects.toThrow('no timeframe')
  })

  test('TypeScript: fetchOHLCV has the first bars after a `since` that is long before the first trade', async () => {
    const requests: string[] = []
    const counting: typeof fetch = (address, ...more) => {
      requests.push(String(address))
      return fetch(address, ...more)
    }
    const counted = createClient({ url, key, fetch: counting })
    const [first] = (await client().fetchOHLCV('WETH/USDC', '1h', undefined, 100)).map(([time]) => time)
    const bars = await counted.fetchOHLCV('WETH/USDC', '1h', Date.UTC(2020, 0, 1), 500)
    expect(bars.length).toBeGreaterThan(3)
    expect(bars.map(([time]) => time)).toEqual(bars.map((_, index) => (first ?? 0) + index * HOUR_MS))
    expect(bars[0]?.[4]).toBeGreaterThan(100)
    // Of 60,000 empty hours.
    expect(requests.length).toBeLessThan(40)
    const minutes = await client().fetchOHLCV('WETH/USDC', '1m', Date.UTC(2026, 0, 1), 5)
    expect(minutes).toHaveLength(5)
    expect(minutes[0]?.[0]).toBeGreaterThanOrEqual(first ?? 0)
    expect(minutes[0]?.[0]).toBeLessThan((first ?? 0) + HOUR_MS)
    expect(await client().fetchOHLCV('WETH/USDC', '1h', Date.now() + 10 * HOUR_MS, 5)).toEqual([])
  })

  test('TypeScript: the example of the README keeps the direction of the symbol', async () => {
    const readme = await readFile(join(ROOT, 'api/extras/clients/typescript/README.md'), 'utf8')
    const [, example = ''] = /```ts\nimport .*?\n(.*?)^```/ms.exec(readme) ?? []
    const prices: number[] = []
    const ended = new Error('The example has no end.')
    const look = (shown: unknown) => {
      for (const { close } of Array.isArray(shown) ? (shown as { close: number }[]) : []) prices.push(close)
      if (prices.length > 20) throw ended
    }
    const pages: AnsweredTick[] = []
    const watched: typeof createClient = (options) => {
      const own = createClient({ ...options, url })
      return {
        ...own,
        async *tickPages(...query) {
          for await (const page of own.tickPages(...query)) {
            pages.push(...page.rows)
            yield page
          }
        },
      }
    }
    const AsyncFunction = (async () => {}).constructor as new (
      ...parts: string[]
    ) => (...values: unknown[]) => Promise<void>
    const run = new AsyncFunction('createClient', 'FoldedRows', 'KEY', 'console', example)
    await expect(run(watched, FoldedRows, key, { log: look })).rejects.toBe(ended)
    expect(pages.length).toBeGreaterThan(10)
    for (const price of [...prices, ...pages.map((tick) => tick.price)]) expect(price).toBeGreaterThan(100)
  })

  test('TypeScript: a stream folds to the answer', async () => {
    const { pool } = await client().ticks({ symbol: PAIR })
    const folded = new FoldedStream(20)
    const stop = new AbortController()
    let tips = 0
    const follow = async () => {
      for await (const event of client().streamTicks({ pool, limit: 20 }, stop.signal)) {
        folded.take(event)
        if (event.event === 'tip' && ++tips === 4) stop.abort()
      }
    }
    await expect(follow()).rejects.toThrow(/abort/i)
    const { rows } = await client().ticks({ pool, limit: 1_000, include: 'position' })
    const known = folded.rowsOf(pool)
    expect(known.length).toBe(20)
    expect(rows).toEqual(expect.arrayContaining(known))
    expect(folded.breaks).toBe(0)
  })

  test('TypeScript: errors have the code of the service, and never the key', async () => {
    const stranger = await client({ key: 'cp_unknown_and_secret' })
      .usage()
      .catch((error: unknown) => error as CandlepoolError)
    expect(stranger).toBeInstanceOf(CandlepoolError)
    expect(stranger).toMatchObject({ code: 'unauthorized', status: 401 })
    expect(JSON.stringify(stranger) + String((stranger as Error).stack)).not.toContain('cp_unknown_and_secret')
    await expect(client().candles({ symbol: 'WETH', interval: '2d' })).rejects.toMatchObject({
      errors: [{ field: 'symbol' }, { field: 'interval' }],
    })
    await expect(createClient({ url: 'http://127.0.0.1:9', retries: 1 }).health()).rejects.toMatchObject({
      code: 'no_answer',
      status: 0,
    })
  })

  test('TypeScript: the package builds', inSoak, async () => {
    const out = join(folder.path, 'dist')
    const project = join(ROOT, 'api/extras/clients/typescript/tsconfig.json')
    await execute('npm', ['run', 'client:types'], { cwd: ROOT })
    await execute(join(ROOT, 'node_modules/.bin/tsc'), ['--project', project, '--outDir', out])
    const built = (await import(join(out, 'client.js'))) as { createClient: typeof createClient }
    expect((await built.createClient({ url, key }).usage()).subscription_plan).toBe('operator')
  })

  describe('Python', () => {
    const README = 'api/extras/clients/python/README.md'
    let checkout: Awaited<ReturnType<typeof temporaryFolder>>
    let unavailable: string | undefined

    const python = (...args: readonly string[]) => {
      const { CANDLEPOOL_URL: _, ...env } = process.env
      return { run: (more: Record<string, string> = {}) => outcomeOf(args, { ...env, ...more }) }
    }
    async function outcomeOf(args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
      const options = { cwd: checkout.path, env }
      const { stdout, stderr } = await execute(join(checkout.path, '.venv/bin/python'), [...args], options).catch(
        (error: { stdout: string; stderr: string }) => error,
      )
      return stdout + stderr
    }

    beforeAll(async () => {
      checkout = await openCheckout()
      const [install] = commandsOf(await readFile(join(ROOT, README), 'utf8'))
      const more = ".venv/bin/pip install --quiet 'pytest>=8'"
      const options = { cwd: checkout.path }
      await execute('bash', ['-c', `${install?.text} && ${more}`], options).catch(
        (error: Error & { stderr: string }) => {
          if (!/ENOENT|not found|No matching distribution|Connection|resolve/.test(error.message + error.stderr))
            throw error
          unavailable = `no packages of Python: ${error.message.split('\n')[0]}`
        },
      )
    })
    afterAll(() => checkout?.remove())

    test('the line of its README installs it, and leaves nothing that git would take', async ({ skip }) => {
      if (unavailable) return skip(unavailable)
      expect(await python('-c', 'import candlepool, pandas; print(candlepool.__name__)').run()).toBe('candlepool\n')
      expect((await execute('git', ['status', '--porcelain'], { cwd: checkout.path })).stdout).toBe('')
    })

    test('the example of its README prints rows, in the direction of the symbol', async ({ skip }) => {
      if (unavailable) return skip(unavailable)
      const readme = await readFile(join(ROOT, README), 'utf8')
      const [, example = ''] = /```python\n(.*?)^```/ms.exec(readme) ?? []
      const here = example
        .replace('http://127.0.0.1:3000', url)
        .replace('"cp_…"', `"${key}"`)
        .replace('print(event.kind, event.data)', 'print(event.kind, event.data["data"][-1]["close"]); break')
      const printed = await python('-c', here).run()
      expect(printed).toMatch(/^ +open .* volume$/m)
      const [, first = ''] = /^snapshot (\S+)$/m.exec(printed) ?? []
      expect(Number(first), printed).toBeGreaterThan(100)
      expect(printed).toContain('WETH-USDC')
      const rows = [...printed.matchAll(/^20\d\d-\S+ \S+ +(\S+)/gm)].map(([, price]) => Number(price))
      expect(rows.length).toBeGreaterThan(3)
    })

    test('its tests say what they need where there is no service', async ({ skip }) => {
      if (unavailable) return skip(unavailable)
      const said = await python('-m', 'pytest', '-p', 'no:cacheprovider', 'api/extras/clients/python').run()
      expect(said).toMatch(/These tests need CANDLEPOOL_URL \(a running service, .*CANDLEPOOL_FREE_KEY/)
      expect(said).not.toMatch(/Traceback|KeyError/)
    })

    test('its own tests pass', inSoak, async ({ skip }) => {
      if (unavailable) return skip(unavailable)
      const tests = ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', 'api/extras/clients/python']
      const service = { CANDLEPOOL_URL: url, CANDLEPOOL_KEY: key, CANDLEPOOL_FREE_KEY: freeKey }
      const said = await python(...tests).run(service)
      expect(said).toMatch(/\d+ passed/)
      expect(said).not.toMatch(/failed|error/i)
    })
  })
})
