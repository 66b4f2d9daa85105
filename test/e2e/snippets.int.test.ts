/** Every command and snippet of the documents, run as printed against one `npm start` with a devnet; what can't be run here says why. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { VARIABLES } from '../../infra/config/config.ts'
import { asker, type Running, run, temporaryFolder, untilReady } from '../support/candlepool.ts'
import { openCheckout, RESTORE } from '../support/checkout.ts'
import { inputOf } from '../support/child-input.ts'
import { withoutClickHouse } from '../support/clickhouse.ts'
import { commandsOf, NOT_RUN, type Reasons, reasonOf } from '../support/commands.ts'
import { DOCUMENTS } from '../support/documents.ts'
import { freePorts } from '../support/free-ports.ts'
import { until } from '../support/until.ts'

const TEXTS = DOCUMENTS.map(({ text }) => text)

/** The beginning of a command, and why it is not run here. */
const SKIPPED: Reasons = [
  ...NOT_RUN,
  ['npm install && npm start', 'a clean install: fresh-clone.ts'],
  ['BASE=http', 'set for all of these'],
  ['KEY=cp_', 'set for all of these'],
  ['ADMIN_PORT=9464 npm start', 'started for all of these'],
  ['SQL_PORT=8123 npm start', 'started for all of these'],
]

const COMMANDS = TEXTS.flatMap(commandsOf)
  .filter(({ text, isInline }) => !isInline || text.startsWith('curl -s'))
  .map(({ text }) => text)
const SCRIPTS = TEXTS.flatMap((text) => [...text.matchAll(/^```js\n(.*?)^```/gms)].map(([, script = '']) => script))

test('no command is left out that the documents do not have', () => {
  expect(SKIPPED.filter(([start]) => !COMMANDS.some((command) => command.startsWith(start)))).toEqual([])
})

describe.skipIf(withoutClickHouse || process.env['CLICKHOUSE_URL'] !== undefined)('as printed', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let checkout: Awaited<ReturnType<typeof temporaryFolder>>
  let main: Running
  let adminPort: number
  let sqlPort: number
  let base: string
  let key: string
  let keyId = ''

  beforeAll(async () => {
    folder = await temporaryFolder()
    // A file that a command writes is not left in the sources.
    checkout = await openCheckout()
    ;[adminPort = 0, sqlPort = 0] = await freePorts(2)
    main = run('start', { DATA_DIR: folder.path, PORT: '0', ADMIN_PORT: String(adminPort), SQL_PORT: String(sqlPort) })
    const ready = await untilReady(main)
    base = ready.url
    key = ready.key
    const ask = asker(base, key)
    await until(async () => {
      const { data } = await ask<{ data: unknown[] }>('/v0/ticks?symbol=WETH-USDC&limit=20')
      return data.length >= 20 ? true : undefined
    }, 'the traders have traded')
  })

  afterAll(async () => {
    await main?.stop()
    await folder?.remove()
    await checkout?.remove()
  })

  /** Only what differs from start to start is another: ports, keys and where the data lies. */
  function asHere(text: string): string {
    return text
      .replaceAll('http://127.0.0.1:3000', base)
      .replaceAll('localhost:9464', `127.0.0.1:${adminPort}`)
      .replaceAll('SQL_PORT=8123', `SQL_PORT=${sqlPort}`)
      .replaceAll(/key_[0-9a-f]{12}/g, keyId)
  }

  function bash(command: string): Promise<{ code: number; output: string }> {
    const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !VARIABLES.includes(name)))
    const env = { ...clean, DATA_DIR: folder.path, BASE: base, KEY: key }
    return new Promise((resolve) => {
      const child = execFile('bash', ['-c', command], { cwd: checkout.path, env }, (error, stdout, stderr) => {
        const code = error ? Number(error.code ?? 1) : 0
        resolve({ code, output: stdout + (code === 0 ? '' : stderr) })
      })
      inputOf(child).end('SELECT 1')
    })
  }

  test.for(COMMANDS)('%s', async (command, { skip }) => {
    const reason = reasonOf(command, SKIPPED)
    if (reason !== undefined) return skip(reason)
    const { code, output } = await bash(asHere(command))
    expect(code, output).toBe(0)
    keyId ||= /key_[0-9a-f]{12}/.exec(output)?.[0] ?? ''
    if (command.startsWith('curl') && !command.includes('9464') && !command.includes('text/csv'))
      expectRows(JSON.parse(output), command)
  })

  test('the examples of /v0/docs answer with rows', async () => {
    const page = await (await fetch(`${base}/v0/docs`)).text()
    const commands = [...page.matchAll(/data-language="curl">.*?<code>(curl .*?)<\/code>/gs)].map(([, text = '']) =>
      text.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code))),
    )
    expect(commands).toHaveLength(8)
    for (const command of commands) {
      const { code, output } = await bash(command)
      expect(code, output).toBe(0)
      expectRows(JSON.parse(output), command)
    }
  })

  test('a file of hours has each hour once, of one pool', async () => {
    const [header, ...rows] = (await readFile(join(checkout.path, 'hours.csv'), 'utf8')).trim().split('\n')
    expect(header).toBe('"time","pair","close"')
    const [hours, pairs] = [0, 1].map((column) => rows.map((row) => row.split(',')[column] ?? ''))
    expect(hours?.length).toBeGreaterThan(3)
    expect(hours).toEqual([...new Set(hours)].toSorted())
    expect(new Set(pairs).size).toBe(1)
  })

  test('the commands leave nothing that git would take or a check would read', async () => {
    expect(await bash(`${RESTORE} && git status --porcelain`)).toEqual({ code: 0, output: '' })
    const biome = await bash('npx biome ci .')
    expect(biome.code, biome.output).toBe(0)
    const rules = ['shape', 'imports', 'words', 'docs'].map((name) => `test/${name}.test.ts`)
    const checks = await bash(`npx vitest run --config test/vitest.config.ts --project quick ${rules.join(' ')}`)
    expect(checks.code, checks.output).toBe(0)
  })

  test('the script that pages ticks has all of them in the order of the chain, whatever the page, also where credits run out', async () => {
    const [script, ...others] = SCRIPTS
    if (!script) throw new Error('There is no script.')
    expect(others).toEqual([])
    const pools = await asker(base, key)<{ data: { id: string }[] }>('/v0/pools?symbol=WETH-USDC')
    // The chain grows meanwhile.
    const until = `const now = ${Date.now()}; class Then extends Date { constructor(...it) { super(...(it.length ? it : [now])) } }; globalThis.Date = Then`
    const settings = `${until}
      const BASE = '${base}', KEY = '${key}', pool = '${pools.data[0]?.id}'`
    const whole = await ticksOf(`${settings}\n${script}`)
    expect(whole.length).toBeGreaterThanOrEqual(20)
    expect(new Set(whole.map(({ id }) => id)).size).toBe(whole.length)
    const refusing = `let asked = 0
      const ask = fetch
      globalThis.fetch = (...it) => ++asked === 2 ? new Response('{}', { status: 429, headers: { 'Retry-After': '1' } }) : ask(...it)`
    const paged = `${refusing}\n${settings}\n${script.replace("limit: '1000'", "limit: '10'")}`
    expect(await ticksOf(paged)).toEqual(whole)
  })
})

/** Lists of an answer are not empty; bars of a chart are there. */
function expectRows(body: unknown, command: string): void {
  expect(body, command).toBeTypeOf('object')
  const { data, s, t } = body as { data?: unknown[] | { levels: unknown[] }; s?: string; t?: unknown[] }
  const rows = data && ('levels' in data ? data.levels : data)
  if (rows !== undefined) expect(rows.length, command).toBeGreaterThan(0)
  if (t !== undefined) expect([s, t.length > 0], command).toEqual(['ok', true])
  expect(s, command).not.toBe('no_data')
}

async function ticksOf(program: string): Promise<{ id: string }[]> {
  const all = `${program}\nconsole.log(JSON.stringify(ticks))`
  const options = { maxBuffer: 2 ** 26 }
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', all], options)
  return JSON.parse(stdout)
}
