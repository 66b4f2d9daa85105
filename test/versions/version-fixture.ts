/**
 * Kept of each released version: a backup of its tables, its topic, and the answers that it gave from them. Each is of the last 300 blocks of the
 * recorded day, so that a later version can be asked the same.
 */
import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Ask, asker, type Script } from '../support/candlepool.ts'
import { DAY, DAY_POOL } from '../support/recorded.ts'
import { startRecordedDay } from '../support/recorded-day.ts'
import type { RpcServer } from '../support/rpc-server.ts'
import { until } from '../support/until.ts'

const run = promisify(execFile)

export const VERSIONS_FOLDER = join(import.meta.dirname, '../fixtures/versions')
export const BACKUP_NAME = 'released'
export const TOPIC = 'blocks.ethereum'

/** Base64 of what the broker holds. */
export type TopicRecord = { key: string | null; value: string; headers: Readonly<Record<string, string>> }

/** The rows of each answer, by path. */
export type Answers = Readonly<Record<string, unknown>>

const FIRST_BLOCK = DAY.lastBlock - 300
const LAST = new Date((DAY.start + 86_400) * 1_000)
const ago = (minutes: number) => new Date(LAST.getTime() - 60_000 * minutes).toISOString()
const RANGE = `pool=${DAY_POOL}&from=${ago(60)}&to=${LAST.toISOString()}`
const PATHS = [
  ...['1s', '1m', '7m', '1h'].flatMap((interval) =>
    ['previous', 'none'].map((fill) => `/v0/candles?${RANGE}&interval=${interval}&fill=${fill}&limit=100`),
  ),
  `/v0/candles?${RANGE}&interval=5m&price=spot`,
  `/v0/candles?symbol=WETH-USDC&interval=1m&limit=50&to=${LAST.toISOString()}`,
  `/v0/ticks?${RANGE}&limit=1000&include=position,sender`,
  `/v0/pools?pool=${DAY_POOL}&include=market`,
]

/** The node, and the environment of the processes that read it. */
export async function startSource(): Promise<{ rpc: RpcServer; environment: Record<string, string> }> {
  const rpc = await startRecordedDay({ finalized: DAY.lastBlock - 100 })
  return { rpc, environment: { ETHEREUM_RPC_URL: rpc.url, ETHEREUM_START: String(FIRST_BLOCK), PORT: '0' } }
}

/** Waits until the whole chain is stored. */
export async function answersOf({ url, key }: { url: string; key: string }): Promise<Answers> {
  const ask = asker(url, key)
  await untilWhole(ask)
  const answers: Record<string, unknown> = {}
  for (const path of PATHS) answers[path] = (await ask<{ data: unknown }>(path)).data
  return answers
}

async function untilWhole(ask: Ask): Promise<void> {
  const look = async () => {
    const { networks } = await ask<{ networks: { tip: { number: number } | null }[] }>('/v0/health')
    return networks[0]?.tip?.number === DAY.lastBlock ? true : undefined
  }
  await until(look, 'the whole chain is stored')
}

export async function saveJson(version: string, name: string, value: unknown): Promise<void> {
  await mkdir(join(VERSIONS_FOLDER, version), { recursive: true })
  await writeFile(join(VERSIONS_FOLDER, version, name), `${JSON.stringify(value)}\n`)
}

export async function savedJson<Value>(version: string, name: string): Promise<Value> {
  return JSON.parse(await readFile(join(VERSIONS_FOLDER, version, name), 'utf8')) as Value
}

/** Commands that releases.md names after an upgrade from it; most versions have none. */
export async function stepsAfter(version: string): Promise<readonly [Script, ...string[]][]> {
  const steps = await savedJson<[Script, ...string[]][]>(version, 'steps.json').catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return []
      throw error
    },
  )
  return steps
}

/** `dataDir`: where the backup was made. */
export async function packBackup(version: string, dataDir: string): Promise<void> {
  await run('tar', ['-czf', archiveOf(version), '-C', join(dataDir, 'store'), `backups/${BACKUP_NAME}`])
}

/** `dataDir`: where it will be restored. */
export async function unpackBackup(version: string, dataDir: string): Promise<void> {
  await mkdir(join(dataDir, 'store'), { recursive: true })
  await run('tar', ['-xzf', archiveOf(version), '-C', join(dataDir, 'store')])
}

function archiveOf(version: string): string {
  return join(VERSIONS_FOLDER, version, 'backup.tar.gz')
}
