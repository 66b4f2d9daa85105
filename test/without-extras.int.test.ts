/** The core without its extras, in a copy of the project: it compiles, and passes its suites. */
import { execFile } from 'node:child_process'
import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { temporaryFolder } from './support/candlepool.ts'
import { withoutClickHouse } from './support/clickhouse.ts'
import { FILES, ROOT } from './support/files.ts'
import { lost } from './support/module-graph.ts'
import { inSoak } from './support/sample.ts'

const execute = promisify(execFile)

const CORE = ['ingest', 'aggregator', 'api'] as const
const LOST = lost((path) => /^(aggregator|api)\/extras\//.test(path))
const KEPT = FILES.filter((path) => !LOST.has(path))
const isOfCore = (path: string) => CORE.some((stage) => path.startsWith(`${stage}/`))
const SUITES = FILES.filter((path) =>
  /^test\/(ingest|aggregator|api|tour|simulation)\/.*\.test\.ts$/.test(path),
).filter((path) => !path.includes('/extras/'))
/** The suites of the core that compare with extras: the candles with `verify`, the answers with the clients. */
const MAX_LOST_SUITES = 10

test('the core loads no file of the extras', () => {
  expect([...LOST].filter((path) => isOfCore(path) && !path.includes('/extras/'))).toEqual([])
  expect(SUITES.filter((path) => LOST.has(path)).length).toBeLessThanOrEqual(MAX_LOST_SUITES)
})

describe.skipIf(withoutClickHouse)('the core without its extras', inSoak, () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>

  beforeAll(async () => {
    folder = await temporaryFolder()
    for (const file of KEPT) {
      await mkdir(join(folder.path, dirname(file)), { recursive: true })
      await copyFile(join(ROOT, file), join(folder.path, file))
    }
    await symlink(join(ROOT, 'node_modules'), join(folder.path, 'node_modules'))
    await execute('git', ['init', '--quiet'], { cwd: folder.path })
    await execute('git', ['add', '--all'], { cwd: folder.path })
  })
  afterAll(() => folder?.remove())

  async function run(...command: readonly string[]): Promise<void> {
    const [program = '', ...args] = command
    const options = { cwd: folder.path, maxBuffer: 2 ** 28, env: { ...process.env, SOAK: '0' } }
    await execute(join(ROOT, 'node_modules/.bin', program), args, options).catch((error) => {
      throw new Error(`${command.join(' ')}\n${error.stdout}\n${error.stderr}`.slice(-20_000))
    })
  }

  test('compiles', async () => {
    const settings = { extends: './tsconfig.json', include: CORE }
    await writeFile(join(folder.path, 'tsconfig.core.json'), JSON.stringify(settings))
    await run('tsc', '--project', 'tsconfig.core.json')
  })

  test('passes its suites', { timeout: 3_600_000 }, async () => {
    await run('vitest', 'run', '--config', 'test/vitest.config.ts', ...SUITES.filter((path) => !LOST.has(path)))
  })
})
