/** Rules that hold the tree together: which stage may import which, no barrels, one reader of the environment, nothing of one machine. */
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { FILES, ROOT } from './support/files.ts'

type SourceFile = { path: string; text: string }

const NO_TEXT = /\.(br|png)$/

/** Each may import those before it and itself. `test` may import all; no stage imports `test`. */
const STAGES = ['ingest', 'aggregator', 'api', 'infra', 'test']

/** The folders of each stage: a file imports from its own and from those before it, types too, so that there is no circle. */
const ROOMS: readonly (readonly string[])[] = [
  [
    'ingest/lib',
    'ingest/model',
    'ingest/columns',
    'ingest/proof',
    'ingest/rpc',
    'ingest/rpc/endpoints',
    'ingest/rpc/logs',
    'ingest/decode',
    'ingest/venues',
    'ingest/pricing',
    'ingest/pools',
    'ingest/blocks',
    'ingest/follow',
    'ingest/backfill',
    'ingest/audit',
  ],
  [
    'aggregator/store',
    'aggregator/names',
    'aggregator/candles',
    'aggregator/ledger',
    'aggregator/jobs',
    'aggregator/write',
    'aggregator/history',
    'aggregator/maintenance',
    'aggregator',
    'aggregator/extras/publish',
    'aggregator/extras/audit',
    'aggregator/extras/verify',
  ],
  [
    'api/lib',
    'api/query',
    'api/accounts',
    'api/market/model',
    'api/market/cache',
    'api/market/candles',
    'api/market/pools',
    'api/market/find',
    'api/market',
    'api/schema',
    'api/http',
    'api/routes',
    'api',
    'api/extras/clients/typescript/src',
    'api/extras/export',
    'api/extras/topics',
    'api/extras/stream',
    'api/extras/depth',
    'api/extras/pool-lists',
    'api/extras/page',
    'api/extras/udf',
    'api/extras/docs',
    'api/extras/mcp',
    'api/extras/page/browser/lib',
    'api/extras/page/browser/chart',
    'api/extras/page/browser/market',
    'api/extras/page/browser/account',
    'api/extras/page/browser',
    'api/extras',
  ],
  [
    'infra/lib',
    'infra/config',
    'infra/rpc',
    'infra/kafka/wire',
    'infra/kafka/client',
    'infra/kafka/group',
    'infra/kafka',
    'infra/clickhouse/client',
    'infra/clickhouse/engine',
    'infra/clickhouse/sql-port',
    'infra/clickhouse',
    'infra/devnet/chain',
    'infra/devnet/contracts',
    'infra/devnet/market',
    'infra/devnet',
    'infra/telemetry',
    'infra/process',
    'infra/process/stages',
    'infra/files',
    'infra/jobs',
    'infra/bin/processes',
    'infra/bin',
    'infra/package',
    'infra/site',
  ],
]

/** Put together from pieces, so that this file does not break its own rule. */
const machinePaths = new RegExp(`(?<![\\w.-])/(?:${['work', 'root', 'home/[a-z]\\w*', 'Users/\\w+'].join('|')})/`)
const registryHosts = new RegExp(
  [
    'registry[.](npmjs|yarnpkg)',
    'npmmirror',
    'repo1?[.]maven',
    'files[.]pythonhosted',
    'deb[.]debian',
    'proxy[.]golang',
  ]
    .map((host) => `${host}[.]`)
    .join('|'),
)

function breaches({ path, text }: SourceFile): string[] {
  const found: string[] = []
  if (machinePaths.test(text)) found.push(`${path} holds a path of one machine`)
  if (registryHosts.test(text)) found.push(`${path} names a registry's host`)
  if (!/\.(ts|mjs)$/.test(path)) return found

  const stage = stageOf(path)
  for (const target of importedPaths(path, text)) {
    const allowed = STAGES.slice(0, STAGES.indexOf(stage) + 1)
    if (!allowed.includes(stageOf(target))) found.push(`${path} imports ${target}`)
  }
  found.push(...breachesOfRooms(path, text))
  for (const module of starExports(path, text)) found.push(`${path} exports all of ${module}`)
  const readsEnvironment = /\bprocess\s*\??\.?\s*(env\b|\[\s*['"`]env)|\benv\b[^\n]*(=\s*process\b|from 'node:process')/
  if (stage !== 'test' && path !== 'infra/config/config.ts' && readsEnvironment.test(withoutComments(text)))
    found.push(`${path} reads the environment`)
  return found
}

function breachesOfRooms(path: string, text: string): string[] {
  const [stage, room] = [stageOf(path), posix.dirname(path)]
  const rooms = ROOMS.find(([first]) => first !== undefined && stageOf(first) === stage)
  if (!rooms || !path.endsWith('.ts')) return []
  if (!rooms.includes(room)) return [`${path} lies in no room`]
  return importedPaths(path, text)
    .filter((target) => stageOf(target) === stage && rooms.indexOf(posix.dirname(target)) > rooms.indexOf(room))
    .map((target) => `${path} imports ${target}, which lies in a higher room`)
}

/** `import`, `export … from`, `import()` and `require()` of local files, as paths from the root. */
function importedPaths(path: string, text: string): string[] {
  return ts
    .preProcessFile(text, true, true)
    .importedFiles.map(({ fileName }) => fileName)
    .filter((name) => name.startsWith('.') || name.startsWith('/'))
    .map((name) => posix.join(posix.dirname(path), name))
}

function starExports(path: string, text: string): string[] {
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest).statements.flatMap((statement) => {
    if (!ts.isExportDeclaration(statement) || !statement.moduleSpecifier) return []
    const { exportClause, moduleSpecifier } = statement
    const isStar = exportClause === undefined || ts.isNamespaceExport(exportClause)
    return isStar && ts.isStringLiteral(moduleSpecifier) ? [moduleSpecifier.text] : []
  })
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
}

function stageOf(path: string): string {
  return path.slice(0, path.indexOf('/'))
}

describe('in this tree', () => {
  const files: readonly SourceFile[] = FILES.filter((path) => !NO_TEXT.test(path)).map((path) => ({
    path,
    text: readFileSync(join(ROOT, path), 'utf8'),
  }))

  test('every stage is there to be looked at', () => {
    expect(files.map(({ path }) => stageOf(path))).toEqual(expect.arrayContaining(STAGES))
  })

  test('every file that a source names beside itself exists', () => {
    const missing = files.flatMap(({ path, text }) =>
      [...text.matchAll(/(?:import\.meta\.dirname, '([^'$]+)'|new URL\('([^'$]+)', import\.meta\.url\))/g)].flatMap(
        ([, joined, url]) => {
          const named = posix.join(posix.dirname(path), joined ?? url ?? '')
          return existsSync(join(ROOT, named)) ? [] : [`${path} names ${named}`]
        },
      ),
    )
    expect(missing).toEqual([])
  })

  test('no files import each other in a circle, not even types', () => {
    const left = new Map(
      files
        .filter(({ path }) => /\.(ts|mjs)$/.test(path) && !path.startsWith('test/'))
        .map(({ path, text }) => [path, importedPaths(path, text)]),
    )
    for (let before = -1; before !== left.size; ) {
      before = left.size
      for (const [path, targets] of left) if (!targets.some((target) => left.has(target))) left.delete(path)
    }
    expect([...left.keys()]).toEqual([])
  })

  test('nothing breaks the rules', () => {
    expect(files.flatMap(breaches)).toEqual([])
  })
})

describe('in a made-up tree', () => {
  test.each([
    [
      'ingest/model/tick.ts',
      `import type { Candle } from '../../aggregator/candles/candle.ts'`,
      'imports aggregator/candles/candle.ts',
    ],
    ['ingest/model/tick.ts', `import {\n  a,\n  b,\n} from "../../api/app.ts"`, 'imports api/app.ts'],
    [
      'aggregator/write/flush.ts',
      `const { run } = await import('../../infra/process/run.ts')`,
      'imports infra/process/run.ts',
    ],
    [
      'api/app.ts',
      `export { connect } from '../infra/clickhouse/client/client.ts'`,
      'imports infra/clickhouse/client/client.ts',
    ],
    [
      'ingest/model/tick.ts',
      `import type { Endpoints } from '../rpc/endpoints/endpoints.ts'`,
      'imports ingest/rpc/endpoints/endpoints.ts, which lies in a higher room',
    ],
    ['ingest/tick.ts', '', 'lies in no room'],
    ['infra/bin/processes/start.ts', `import '../../../test/support/anvil.ts'`, 'imports test/support/anvil.ts'],
    ['infra/devnet/contracts/x.mjs', `import x from '../../../test/app.ts'`, 'imports test/app.ts'],
    ['ingest/model/index.ts', `export * from './tick.ts'`, 'exports all of ./tick.ts'],
    ['api/index.ts', `export * as time from './time.ts'`, 'exports all of ./time.ts'],
    ['api/app.ts', `const { PORT } = process.env`, 'reads the environment'],
    ['infra/process/run.ts', `const port = process['env'].PORT`, 'reads the environment'],
    ['infra/process/run.ts', `const { env } = process`, 'reads the environment'],
    ['infra/process/run.ts', `import { env } from 'node:process'`, 'reads the environment'],
    ['README.md', `cd /${'root'}/candlepool`, 'holds a path of one machine'],
    ['infra/bin/processes/start.ts', `const folder = '/${'home'}/ann/data'`, 'holds a path of one machine'],
    ['package-lock.json', `"resolved": "https://registry.${'npmjs'}.org/x"`, "names a registry's host"],
  ])('%s: %s', (path, text, breach) => {
    expect(breaches({ path, text })).toEqual([`${path} ${breach}`])
  })

  test.each([
    ['aggregator/write/flush.ts', `import { a } from '../../ingest/model/tick.ts'\nimport { b } from './store.ts'`],
    [
      'api/app.ts',
      `import express from 'express'\n// import '../infra/process/run.ts'\nconst text = "import '../infra/process/run.ts'"`,
    ],
    ['infra/config/config.ts', `export const config = process.env`],
    ['test/e2e/start.int.test.ts', `import '../../infra/bin/processes/start.ts'\nconst all = process.env`],
    ['infra/bin/processes/start.ts', `/** process.env is read elsewhere. */\nprocess.exit()`],
    ['README.md', 'See `infra/work/` and https://example.org/home.'],
  ])('%s may say: %s', (path, text) => {
    expect(breaches({ path, text })).toEqual([])
  })
})
