/** Sources of other versions than today's: the first one with today's tables, and a made-up next one. */
import { execFile } from 'node:child_process'
import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { temporaryFolder } from '../support/candlepool.ts'
import { FILES, ROOT } from '../support/files.ts'

export type Tree = { root: string; remove(): Promise<void> }

/** Versions by their folders; undefined is today's. */
export type Upgrade = { from: string | undefined; to: string | undefined; isRebuilt: boolean }

const execute = promisify(execFile)
/** The first one with one file a table. */
const FIRST_COMMIT = 'f4e0dd75'
const MIGRATIONS = 'infra/clickhouse/migrations'

/** `OLD` names its folder; else it is taken from git. Undefined, with the reason printed, where the repository lacks the commit. */
export async function firstTree(): Promise<Tree | undefined> {
  const root = process.env['OLD']
  if (root) return { root, remove: async () => {} }
  const folder = await withModules()
  try {
    await execute('sh', ['-c', `git archive ${FIRST_COMMIT} | tar -x -C '${folder.root}'`], { cwd: ROOT })
    await execute('test', ['-e', join(folder.root, 'package.json')])
    return folder
  } catch {
    await folder.remove()
    console.log(`No upgrade from the first version: set OLD to its folder, or fetch ${FIRST_COMMIT}.`)
    return undefined
  }
}

/** Today's sources with one more column, and with one table that is made again. */
export async function nextTree(): Promise<Tree> {
  const folder = await withModules()
  for (const file of FILES.filter((path) => !path.startsWith('test/'))) {
    await mkdir(join(folder.root, dirname(file)), { recursive: true })
    await copyFile(join(ROOT, file), join(folder.root, file))
  }
  for (const [name, sql] of Object.entries(NEXT_MIGRATIONS)) await writeFile(join(folder.root, MIGRATIONS, name), sql)
  return folder
}

const NEXT_MIGRATIONS = {
  '9001_candle_note.sql':
    "ALTER TABLE candles ADD COLUMN IF NOT EXISTS note String DEFAULT 'none' CODEC(ZSTD) AFTER unexecuted;",
  // An index of another granularity, which no ALTER makes.
  '9002_coarser_candles.sql': `DROP TABLE IF EXISTS candles_9002 SYNC;
    CREATE TABLE candles_9002 AS candles ENGINE = ReplacingMergeTree(version) ORDER BY (network, pool, resolution, time)
    SETTINGS index_granularity = 4096, merge_selector_base = 6, auto_statistics_types = '';
    INSERT INTO candles_9002 SELECT * FROM candles;
    EXCHANGE TABLES candles AND candles_9002;
    DROP TABLE candles_9002 SYNC;`,
}

async function withModules(): Promise<Tree> {
  const { path, remove } = await temporaryFolder()
  await symlink(join(ROOT, 'node_modules'), join(path, 'node_modules'))
  return { root: path, remove }
}
