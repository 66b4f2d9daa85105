import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { connect } from '../../../../infra/clickhouse/client/client.ts'
import {
  type Engine,
  type EngineFact,
  type EngineOptions,
  isEngineInstalled,
  startEngine,
} from '../../../../infra/clickhouse/engine/engine.ts'
import type { EngineAccess } from '../../../../infra/clickhouse/engine/engine-access.ts'
import { findEngine, writeRunning } from '../../../../infra/clickhouse/engine/engine-access.ts'
import { enginePaths } from '../../../../infra/clickhouse/engine/engine-config.ts'

let dataDir: string
let engines: Engine[]

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'candlepool-engine-'))
  engines = []
})

afterEach(async () => {
  await Promise.all(engines.map((engine) => engine.stop()))
  await rm(dataDir, { recursive: true, force: true })
})

async function start(options: Partial<EngineOptions> = {}) {
  const engine = await startEngine({ dataDir, ...options })
  engines.push(engine)
  return engine
}

describe.skipIf(!isEngineInstalled())('startEngine', () => {
  it('keeps every answered row when the engine is killed, and says that it is gone', async () => {
    const facts: EngineFact[] = []
    const first = await start({ report: (fact) => facts.push(fact) })
    await command(first, 'CREATE TABLE kept (number UInt32) ORDER BY number')
    for (let batch = 0; batch < 20; batch++) {
      await command(first, `INSERT INTO kept SELECT number + ${batch * 1000} FROM numbers(1000)`)
    }
    process.kill(first.pid, 'SIGKILL')
    expect(await first.exited).toMatchObject({ signal: 'SIGKILL', expected: false })
    expect(facts.map(({ kind }) => kind)).toEqual(['engine-starting', 'engine-started', 'engine-ended'])
    expect(await findEngine(dataDir)).toBeUndefined()

    const second = await start()
    expect(await ask(second, 'SELECT count() AS rows, uniqExact(number) AS numbers FROM kept')).toEqual([
      { rows: '20000', numbers: '20000' },
    ])
  })

  it('ends with a parent that was killed, and the folder is free at once', async () => {
    const owner = spawn(process.execPath, ['--import', 'tsx', join(import.meta.dirname, 'owner-process.ts'), dataDir], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = await nextLine(owner.stdout)
    const { pid, url } = JSON.parse(line) as { pid: number; url: string }
    expect(await findEngine(dataDir)).toMatchObject({ url })
    owner.kill('SIGKILL')
    // No waiting here: a process that is started again at once has to cope with the engine that is still ending.
    const next = await start()
    expect(next.pid).not.toBe(pid)
    await vi.waitFor(() => expect(isRunning(pid)).toBe(false), 60_000)
  })

  it('is waited for where it still answers after its owner was killed', async () => {
    const orphan = await start()
    const dead = spawn('true')
    await once(dead, 'exit')
    await writeRunning(enginePaths(dataDir), { url: orphan.url, pid: orphan.pid, owner: dead.pid ?? 0 })
    const next = start()
    const outcome = next.then(
      () => 'started',
      () => 'refused',
    )
    expect(await Promise.race([outcome, sleep(1_500, 'waits')])).toBe('waits')
    await orphan.stop()
    expect(await outcome).toBe('started')
  })

  it('does not hear a signal that the service manager sends to every process', async () => {
    const engine = await start()
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(engine.pid, signal)
    await sleep(300)
    expect(await ask(engine, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  it('names the process that holds the folder', async () => {
    await start()
    const before = performance.now()
    await expect(startEngine({ dataDir })).rejects.toMatchObject({
      code: 'folder-in-use',
      message: `the data folder ${dataDir}/clickhouse is in use by process ${process.pid}: stop that one, or set another DATA_DIR`,
    })
    expect(performance.now() - before).toBeLessThan(4_000)
    expect(await findEngine(dataDir)).toBeDefined()
  })

  it('lets one of two first starts at once have the folder', async () => {
    const outcomes = await Promise.allSettled([start(), start()])
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'folder-in-use' } })
    expect(await findEngine(dataDir)).toBeDefined()
  })

  it('says what to do where there is no engine for this machine', async () => {
    vi.stubEnv('CHDB_LIBCHDB_PATH', join(dataDir, 'nothing.so'))
    const failed = startEngine({ dataDir })
    await expect(failed).rejects.toMatchObject({ code: 'not-installed' })
    await expect(failed).rejects.toThrow(
      /^there is no embedded ClickHouse on .*: set CLICKHOUSE_URL to a ClickHouse server/,
    )
    vi.unstubAllEnvs()
  })

  it('says which port is taken', async () => {
    const { url } = await start()
    const port = Number(new URL(url).port)
    await expect(startEngine({ dataDir: join(dataDir, 'other'), port })).rejects.toMatchObject({
      code: 'port-taken',
      message: `port ${port} of 127.0.0.1 is taken: choose another one, or none for a free one`,
    })
  })

  it('gives up a start when it is told to', async () => {
    const signal = AbortSignal.abort(new Error('changed my mind'))
    await expect(startEngine({ dataDir, signal })).rejects.toThrow('changed my mind')
    await start()
  })

  it('stops within 3 s while a question is under way and a client idles', async () => {
    const engine = await start()
    const client = connect({ ...engine, ...engine.users.owner })
    await client.ping()
    const question = client.query({ query: 'SELECT sleepEachRow(1) FROM numbers(60) SETTINGS max_block_size = 1' })
    const broken = expect(question).rejects.toThrow()
    await sleep(200)
    const before = performance.now()
    await engine.stop()
    expect(performance.now() - before).toBeLessThan(3_000)
    expect(await engine.exited).toMatchObject({ expected: true })
    await broken
    await client.close()
    expect(isRunning(engine.pid)).toBe(false)
  })

  it('keeps its passwords from other users of the machine and out of arguments and logs', async () => {
    const engine = await start()
    const client = connect({ ...engine, ...engine.users.owner, password: 'wrong' })
    await expect(client.query({ query: 'SELECT 1' })).rejects.toThrow(/Authentication failed/)
    await client.close()
    const folder = join(dataDir, 'engine')
    // As they are, and as they travel: the engine compares the header with its configuration.
    const secrets = Object.values(engine.users).flatMap(({ username, password }) => [
      password,
      Buffer.from(`${username}:${password}`).toString('base64'),
    ])
    for (const file of [...(await readdir(folder)), 'log/engine.log']) {
      const path = join(folder, file)
      if (file !== 'log/engine.log') expect((await stat(path)).mode & 0o077, file).toBe(0)
      if (['passwords.json', 'config.xml', 'log'].includes(file)) continue
      const text = await readFile(path, 'utf8')
      for (const secret of secrets) expect(text.includes(secret), file).toBe(false)
    }
    const processes = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))
    for (const pid of processes) {
      for (const shown of ['cmdline', 'environ']) {
        const text = await readFile(`/proc/${pid}/${shown}`, 'utf8').catch(() => '')
        for (const secret of secrets) expect(text.includes(secret), shown).toBe(false)
      }
    }
    await engine.stop()
    const again = await start()
    expect(again.users).toEqual(engine.users)
  })
})

describe.skipIf(!isEngineInstalled())('findEngine', () => {
  it('does not take an engine for that of a copied folder', async () => {
    const engine = await start()
    const copy = join(dataDir, 'copy')
    await mkdir(join(copy, 'clickhouse'), { recursive: true })
    await cp(join(dataDir, 'engine'), join(copy, 'engine'), { recursive: true })
    expect(await findEngine(dataDir)).toMatchObject({ url: engine.url, users: engine.users })
    expect(await findEngine(copy)).toBeUndefined()
  })

  it('finds nothing in a folder that does not exist or whose engine has stopped', async () => {
    expect(await findEngine(join(dataDir, 'nothing'))).toBeUndefined()
    const engine = await start()
    await engine.stop()
    expect(await findEngine(dataDir)).toBeUndefined()
  })
})

async function command(access: EngineAccess, query: string) {
  const client = connect({ ...access, ...access.users.owner, database: 'default' })
  await client.command({ query })
  await client.close()
}

async function ask(access: EngineAccess, query: string) {
  const client = connect({ ...access, ...access.users.owner, database: 'default' })
  const rows = await (await client.query({ query, format: 'JSONEachRow' })).json()
  await client.close()
  return rows
}

async function nextLine(input: NodeJS.ReadableStream): Promise<[string]> {
  for await (const line of createInterface({ input })) return [line]
  throw new Error('the process ended before it said anything')
}

/** A zombie process still has a pid. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  return !isZombie(pid)
}

function isZombie(pid: number): boolean {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
