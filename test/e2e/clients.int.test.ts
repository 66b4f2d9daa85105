/** The TypeScript and the Python client beside one `npm start`. Python's tests need Python and PyPI. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AnsweredCandle,
  type AnsweredTick,
  CandlepoolError,
  createClient,
} from '../../api/clients/typescript/src/client.ts'
import { FoldedStream } from '../client/event-stream.ts'
import { type Running, run, temporaryFolder, untilReady } from '../support/candlepool.ts'
import { withoutClickHouse } from '../support/clickhouse.ts'
import { ROOT } from '../support/documents.ts'
import { openVenv } from '../support/python.ts'
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

  test('TypeScript: fetchOHLCV has any number of bars from `since` on', async () => {
    const { from } = await closedRange(4)
    const since = Date.parse(from)
    const bars = await client().fetchOHLCV('WETH/USDC', '1m', since, 150)
    expect(bars.map(([time]) => time)).toEqual(Array.from({ length: 150 }, (_, index) => since + index * 60_000))
    const newest = await client().fetchOHLCV('WETH/USDC', '1m', undefined, 3)
    expect(newest).toHaveLength(3)
    await expect(client().fetchOHLCV('WETH/USDC', '1w')).rejects.toThrow('no timeframe')
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
    const project = join(ROOT, 'api/clients/typescript/tsconfig.json')
    await execute(join(ROOT, 'node_modules/.bin/tsc'), ['--project', project, '--outDir', out])
    const built = (await import(join(out, 'client.js'))) as { createClient: typeof createClient }
    expect((await built.createClient({ url, key }).usage()).subscription_plan).toBe('operator')
  })

  test('Python: its own tests pass', { ...inSoak, timeout: 300_000 }, async ({ skip }) => {
    const venv = await openVenv([`${join(ROOT, 'api/clients/python')}[test]`])
    if ('unavailable' in venv) return skip(venv.unavailable)
    const env = { ...process.env, CANDLEPOOL_URL: url, CANDLEPOOL_KEY: key, CANDLEPOOL_FREE_KEY: freeKey }
    const tests = join(ROOT, 'api/clients/python/tests')
    const { stdout } = await execute(
      join(venv.bin, 'python'),
      ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', tests],
      {
        env,
      },
    ).catch((error: { stdout: string; stderr: string }) => error)
    await venv.remove()
    expect(stdout).toMatch(/\d+ passed/)
    expect(stdout).not.toMatch(/failed|error/i)
  })
})
