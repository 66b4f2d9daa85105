/** How a command finds the embedded ClickHouse that another process runs on the same data folder. */

import { createHmac, randomBytes } from 'node:crypto'
import { link, mkdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { type ClickHouseClient, ClickHouseLogLevel } from '@clickhouse/client'
import { z } from 'zod'
import { ask } from '../../../aggregator/store/store.ts'
import { connect, MAX_OPEN } from '../client/client.ts'
import { openClient } from '../client/requests.ts'
import { type EnginePaths, enginePaths } from './engine-config.ts'
import { ANALYST_LIMITS, ENGINE_DATABASE, ENGINE_USERS, type EngineUser } from './engine-users.ts'

export type EngineAccess = {
  url: string
  database: string
  users: Record<EngineUser, { username: EngineUser; password: string }>
  /** The password of `analyst` at SQL_PORT. The engine's own differs, so statements can only pass through that port. */
  sqlPassword: string
}

/** Written beside the data while the engine answers; no secret in it. */
export type RunningEngine = {
  url: string
  /** Process id of the engine. */
  pid: number
  /** Process id of the process that started the engine and writes to it. */
  owner: number
}

/** The engine of this data folder, where it answers; files of an engine that has ended are ignored. */
export async function findEngine(dataDir: string): Promise<EngineAccess | undefined> {
  const paths = enginePaths(dataDir)
  const running = await readRunning(paths)
  const passwords = await readPasswords(paths)
  if (!running || !passwords) return undefined
  const access = accessOf(running.url, passwords)
  return (await isAnswering(access, paths)) ? access : undefined
}

const LOCK_TIMEOUT_MS = 5_000
/** An engine without its owner ends; on a busy machine it may still answer for seconds. */
const ORPHAN_TIMEOUT_MS = 60_000

/** Whether the engine that holds the folder is about to end: that of a process that was killed a moment ago. */
export async function isWorthWaiting(paths: EnginePaths, dataDir: string, waitedMs: number): Promise<boolean> {
  const running = await readRunning(paths)
  if (running && !isAlive(running.owner)) return waitedMs < ORPHAN_TIMEOUT_MS
  return waitedMs < LOCK_TIMEOUT_MS && !(await findEngine(dataDir))
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // A process of another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

export function accessOf(url: string, passwords: Record<EngineUser, string>): EngineAccess {
  return {
    url,
    database: ENGINE_DATABASE,
    users: Object.fromEntries(
      ENGINE_USERS.map((username) => [username, { username, password: passwords[username] }]),
    ) as EngineAccess['users'],
    sqlPassword: derivePassword(passwords.owner, 'sql'),
  }
}

/** Without settings: `analyst` may not change them. */
export function connectAnalyst({ url, database, users }: EngineAccess): ClickHouseClient {
  return openClient({
    url,
    database,
    ...users.analyst,
    application: 'candlepool',
    max_open_connections: MAX_OPEN,
    request_timeout: 1_000 * ANALYST_LIMITS.max_execution_time + 5_000,
    log: { level: ClickHouseLogLevel.OFF },
  })
}

/** True where the engine behind the address has our password and our tables: a copied folder knows the password of its original too. */
export async function isAnswering(access: EngineAccess, paths: EnginePaths, signal?: AbortSignal): Promise<boolean> {
  const client = connect({ ...access, ...access.users.owner, database: 'system', requestTimeoutMs: 2_000 })
  try {
    const query = "SELECT value FROM system.server_settings WHERE name = 'path'"
    const [row] = await ask<{ value: string }>(client, query, {}, signal && { abort_signal: signal })
    return row !== undefined && (await realpath(row.value)) === (await realpath(paths.tables))
  } catch {
    return false
  } finally {
    await client.close()
  }
}

/** Random at the first start, then the same for good; of two first starts at once, one makes them and both have them. */
export async function ensurePasswords(paths: EnginePaths): Promise<Record<EngineUser, string>> {
  const known = await readPasswords(paths)
  if (known) return known
  const random = { owner: newPassword(), api: newPassword(), accounts: newPassword() }
  const made = PASSWORDS.parse(random)
  const draft = draftOf(paths.passwords)
  await writeFile(draft, JSON.stringify(random, undefined, 2), { mode: 0o600 })
  try {
    // Unlike a rename, a link never replaces the file that another start has made meanwhile.
    await link(draft, paths.passwords)
  } catch {
    const theirs = await readPasswords(paths)
    if (theirs) return theirs
    await writeSecret(paths.passwords, JSON.stringify(random, undefined, 2))
  } finally {
    await rm(draft, { force: true })
  }
  return made
}

export async function readRunning(paths: EnginePaths): Promise<RunningEngine | undefined> {
  return readJson(paths.running, RUNNING)
}

/** The engine writes its process id where it locks the folder; the file outlives a kill, the lock does not. */
export async function readLockHolder(paths: EnginePaths): Promise<number | undefined> {
  const status = await readFile(paths.status, 'utf8').catch(() => '')
  const pid = /^PID: (\d+)$/m.exec(status)?.[1]
  return pid === undefined ? undefined : Number(pid)
}

export async function writeRunning(paths: EnginePaths, running: RunningEngine): Promise<void> {
  await writeSecret(paths.running, JSON.stringify(running))
}

/** Only the note of this engine: where it died, another one may have the folder by now. */
export async function removeRunning(paths: EnginePaths, pid: number): Promise<void> {
  const running = await readRunning(paths)
  if (running?.pid === pid) await rm(paths.running, { force: true })
}

/** Atomic; readable by this user only. */
export async function writeSecret(file: string, content: string): Promise<void> {
  const draft = draftOf(file)
  await writeFile(draft, content, { mode: 0o600 })
  await rename(draft, file)
}

export async function makeFolders(paths: EnginePaths): Promise<void> {
  for (const folder of [paths.engine, paths.logs, paths.tables, paths.backups])
    await mkdir(folder, { recursive: true, mode: 0o700 })
}

/** The file is that of earlier versions: they have no passwords of `analyst` and `parser`. */
const PASSWORDS = z.object({ owner: z.string(), api: z.string(), accounts: z.string() }).transform((random) => ({
  ...random,
  analyst: derivePassword(random.owner, 'analyst'),
  parser: derivePassword(random.owner, 'parser'),
}))
const RUNNING = z.object({ url: z.url(), pid: z.int(), owner: z.int() })

async function readPasswords(paths: EnginePaths) {
  return readJson(paths.passwords, PASSWORDS)
}

async function readJson<T>(file: string, schema: z.ZodType<T>): Promise<T | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  try {
    return schema.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** No character that a URL or a shell would read as its own. */
function newPassword(): string {
  return randomBytes(24).toString('base64url')
}

/** Derived by HMAC: it does not reveal `password`. */
function derivePassword(password: string, purpose: string): string {
  return createHmac('sha256', password).update(purpose).digest('base64url')
}

/** A unique name for each writer, so that a file is complete before it is linked or renamed. */
function draftOf(file: string): string {
  return `${file}.${randomBytes(6).toString('hex')}`
}
