/** The client that `openapi-python-client` generates from the document, used against a running service. It needs Python and PyPI. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { openVenv } from '../../support/python.ts'
import { inSoak } from '../../support/sample.ts'
import { NETWORKS_SERVED, POOLS, storeScenario, TIP } from '../scenario.ts'
import { type Service, startService } from '../service.ts'

const GENERATOR = 'openapi-python-client==0.29.1'
const execute = promisify(execFile)

/** Prints what the generated client makes of a good question, a bad one, and one without a key. */
const SCRIPT = `
import json, sys
from candlepool import AuthenticatedClient
from candlepool.api.default import candles, ticks, usage
from candlepool.models import Candles, Problem400, Problem401, Problem404, Problem503, Ticks, Usage

url, key, pool = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=key, prefix="", auth_header_name="X-API-KEY")
stranger = AuthenticatedClient(base_url=url, token="unknown", prefix="", auth_header_name="X-API-KEY")
good = candles.sync(client=client, pool=pool, interval="1h", limit=3)
bad = candles.sync(client=client, symbol="WETH", interval="2d")
unknown = ticks.sync(client=client, symbol="NOPE-WETH")
refused = usage.sync(client=stranger)
print(json.dumps({
    "good": [type(good).__name__, len(good.data), good.credits_used >= 1],
    "ticks": type(ticks.sync(client=client, pool=pool)).__name__,
    "usage": usage.sync(client=client).subscription_plan,
    "bad": [type(bad).__name__, bad.status, bad.code.value, sorted(error.field for error in bad.errors)],
    "unknown": [type(unknown).__name__, unknown.status, unknown.code.value],
    "refused": [type(refused).__name__, refused.status, refused.code.value],
}))
`

describe.skipIf(withoutClickHouse)('a Python client', () => {
  let database: TestDatabase
  let service: Service
  let folder: string

  beforeAll(async () => {
    database = await freshDatabase()
    await storeScenario(database.client)
    const clock = () => new Date((TIP + 10) * 1000)
    service = await startService({ client: database.client, networks: NETWORKS_SERVED, clock })
    folder = await mkdtemp(join(tmpdir(), 'candlepool-python-'))
  })
  afterAll(async () => {
    await service?.stop()
    await database?.drop()
    if (folder) await rm(folder, { recursive: true, force: true })
  })

  test('is generated without a warning, and has a type for each error', inSoak, async ({ skip }) => {
    const venv = await openVenv([GENERATOR])
    if ('unavailable' in venv) return skip(venv.unavailable)
    const { bin } = venv
    onTestFinished(venv.remove)
    const environment = { ...process.env, PATH: `${bin}:${process.env['PATH']}`, COLUMNS: '200' }
    const out = ['--meta', 'none', '--output-path', join(folder, 'candlepool'), '--fail-on-warning']
    const generated = await execute(
      join(bin, 'openapi-python-client'),
      ['generate', '--url', `${service.url}/v0/openapi.json`, ...out],
      { env: environment },
    ).catch((error: { stdout: string; stderr: string }) => error)
    expect(`${generated.stdout}${generated.stderr}`).not.toMatch(/warning|omitted/i)

    await writeFile(join(folder, 'ask.py'), SCRIPT)
    const { stdout } = await execute(
      join(bin, 'python'),
      [join(folder, 'ask.py'), service.url, service.key, POOLS.main.id],
      { env: environment, cwd: folder },
    )
    expect(JSON.parse(stdout)).toEqual({
      good: ['Candles', 3, true],
      ticks: 'Ticks',
      usage: 'operator',
      bad: ['Problem400', 400, 'invalid_parameters', ['interval', 'symbol']],
      unknown: ['Problem404', 404, 'unknown_symbol'],
      refused: ['Problem401', 401, 'unauthorized'],
    })
  })
})
