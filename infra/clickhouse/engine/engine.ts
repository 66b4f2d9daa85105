/** The embedded ClickHouse: the real engine from npm, in a child process, with its tables in a folder. */

import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Report } from '../../../ingest/model/report.ts'
import { type Child, type Exit, startChild } from '../../lib/child.ts'
import type { EngineAccess } from './engine-access.ts'
import {
  accessOf,
  ensurePasswords,
  isAlive,
  isAnswering,
  isWorthWaiting,
  makeFolders,
  readLockHolder,
  readRunning,
  removeRunning,
  writeRunning,
  writeSecret,
} from './engine-access.ts'
import { allowanceOf, configXml, type EnginePaths, type EngineShard, enginePaths } from './engine-config.ts'
import { usersXml } from './engine-users.ts'

export type Engine = EngineAccess & {
  pid: number
  /** The version of Landlock that keeps other files and addresses from the engine; 0 where this system has none, so that it may open all that we may. */
  landlock: number
  /** Resolves, never rejects, when the engine has ended for any reason. */
  exited: Promise<EngineExit>
  /** Ends the engine in at most 3 s: statements under way are broken off, answered inserts are stored. Safe to call twice. */
  stop(): Promise<void>
}

export type EngineExit = Exit & {
  /** True where `stop` ended it. */
  expected: boolean
}

export type EngineFact =
  | { kind: 'engine-starting'; dataDir: string }
  | { kind: 'engine-started'; url: string; pid: number; dataDir: string; landlock: number; milliseconds: number }
  | { kind: 'engine-said'; line: string }
  | { kind: 'engine-ended'; exit: EngineExit }

export type EngineOptions = {
  dataDir: string
  /** A free port of 127.0.0.1 where none is given. */
  port?: number
  /** At which the engine refuses questions instead of growing further. */
  memoryLimitBytes?: number
  shard?: EngineShard
  /** Gives up a start; a running engine ends by `stop`, last of all. */
  signal?: AbortSignal
  report?: Report<EngineFact>
}

/** Starts the engine and resolves once it answers. */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  const library = findLibrary()
  const paths = enginePaths(resolve(options.dataDir))
  await makeFolders(paths)
  const passwords = await ensurePasswords(paths)
  const memoryLimit = options.memoryLimitBytes ?? defaultMemoryLimit()
  await writeSecret(paths.config, configXml(paths, passwords, memoryLimit, options.shard))
  await writeSecret(paths.users, usersXml(passwords, memoryLimit))

  const began = performance.now()
  for (let attempt = 1; ; attempt++) {
    options.signal?.throwIfAborted()
    const port = options.port ?? (await freePort())
    const access = accessOf(`http://127.0.0.1:${port}`, passwords)
    try {
      return await launch(library, paths, access, port, options)
    } catch (error) {
      if (!(error instanceof EngineError)) throw error
      // Another process took the free port first.
      if (error.code === 'port-taken' && options.port === undefined && attempt < 5) continue
      const isEnding =
        error.code === 'folder-in-use' && (await isWorthWaiting(paths, options.dataDir, performance.now() - began))
      if (!isEnding) throw error
      await sleep(200, undefined, options.signal && { signal: options.signal })
    }
  }
}

const PROGRAM = join(import.meta.dirname, 'engine-process.mjs')
const START_TIMEOUT_MS = 60_000
const GRACE_MS = 2_500

async function launch(
  library: string,
  paths: EnginePaths,
  access: EngineAccess,
  port: number,
  options: EngineOptions,
): Promise<Engine> {
  const { signal, report } = options
  const started = performance.now()
  report?.({ kind: 'engine-starting', dataDir: options.dataDir })
  let stopping = false
  let landlock = 0
  const allowance = allowanceOf(paths, library, port, options.shard)
  const child = startChild({
    command: process.execPath,
    args: [PROGRAM, library, paths.config, String(port), paths.users, JSON.stringify(allowance)],
    // An empty environment but for UTC: no loader, no credentials.
    env: { TZ: 'UTC' },
    stopSignal: 'end-of-input',
    graceMs: GRACE_MS,
    onLine: (line) => {
      const version = /^Landlock (\d+)$/.exec(line)?.[1]
      if (version !== undefined) landlock = Number(version)
      else if (!line.startsWith('Logging warning to')) report?.({ kind: 'engine-said', line })
    },
  })
  await untilAnswers(child, access, paths, port, signal)
  await writeRunning(paths, { url: access.url, pid: child.pid, owner: process.pid })
  const milliseconds = Math.round(performance.now() - started)
  const { dataDir } = options
  report?.({ kind: 'engine-started', url: access.url, pid: child.pid, dataDir, landlock, milliseconds })

  const exited = child.exited.then(async (exit): Promise<EngineExit> => {
    await removeRunning(paths, child.pid)
    const ended = { ...exit, expected: stopping }
    report?.({ kind: 'engine-ended', exit: ended })
    return ended
  })
  async function stop() {
    stopping = true
    await removeRunning(paths, child.pid)
    await child.stop()
    await exited
  }
  return { ...access, pid: child.pid, landlock, exited, stop }
}

async function untilAnswers(
  child: Child,
  access: EngineAccess,
  paths: EnginePaths,
  port: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  let exit: Exit | undefined
  void child.exited.then((ended) => {
    exit = ended
  })
  const giveUp = performance.now() + START_TIMEOUT_MS
  while (!(await isAnswering(access, paths, signal))) {
    if (exit) throw await startErrorOf(exit, paths, port)
    if (signal?.aborted || performance.now() > giveUp) {
      await child.stop()
      signal?.throwIfAborted()
      throw new EngineError(
        'no-answer',
        `ClickHouse did not answer within ${START_TIMEOUT_MS / 1000} s; see ${paths.log}`,
      )
    }
    await sleep(20)
  }
}

async function startErrorOf(exit: Exit, paths: EnginePaths, port: number): Promise<EngineError> {
  const said = exit.lastLines.filter((line) => !/^(Logging|Landlock) /.test(line)).join('\n')
  if (said.includes('Cannot lock file')) {
    const [running, holder] = await Promise.all([readRunning(paths), readLockHolder(paths)])
    // The owner's process id is the one to stop; a stale note names another engine.
    const pid = running?.pid === holder && isAlive(running?.owner ?? 0) ? running?.owner : holder
    return new EngineError(
      'folder-in-use',
      `the data folder ${paths.tables} is in use by ${pid === undefined ? 'another process' : `process ${pid}`}: stop that one, or set another DATA_DIR`,
    )
  }
  if (said.includes('Address already in use')) {
    return new EngineError(
      'port-taken',
      `port ${port} of 127.0.0.1 is taken: choose another one, or none for a free one`,
    )
  }
  const how = exit.signal ? `was ended by ${exit.signal}` : `ended with code ${exit.code}`
  return new EngineError('ended', `ClickHouse ${how} before it answered; see ${paths.log}\n${said}`.trimEnd())
}

/** False where this machine needs a ClickHouse server. */
export function isEngineInstalled(): boolean {
  try {
    return findLibrary() !== ''
  } catch {
    return false
  }
}

/** The engine's own lookup takes CHDB_LIBCHDB_PATH and CHDB_LIBCHDB_DIR into account too. */
function findLibrary(): string {
  const require = createRequire(import.meta.url)
  try {
    require.resolve('ffi-rs')
    const { libchdbPath }: typeof import('chdb/libchdb') = require('chdb/libchdb')
    return libchdbPath()
  } catch (cause) {
    throw new EngineError(
      'not-installed',
      `there is no embedded ClickHouse on ${process.platform}-${process.arch}: set CLICKHOUSE_URL to a ClickHouse server, ` +
        'or install the optional dependencies (npm install --include=optional) on Linux with glibc or macOS',
      { cause },
    )
  }
}

/** Half of the machine, between 1 and 4 GiB: the rest is for this process and for the page cache, which reads depend on. */
function defaultMemoryLimit(): number {
  const GiB = 1024 ** 3
  return Math.min(4 * GiB, Math.max(GiB, Math.floor(totalmem() / 2)))
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => {
        if (address !== null && typeof address === 'object') resolve(address.port)
        else reject(new Error('no free port on 127.0.0.1'))
      })
    })
  })
}

export type EngineErrorCode = 'not-installed' | 'folder-in-use' | 'port-taken' | 'no-answer' | 'ended'

export class EngineError extends Error {
  override readonly name = 'EngineError'
  readonly code: EngineErrorCode

  constructor(code: EngineErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
