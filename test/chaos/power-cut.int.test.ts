/**
 * A power cut: of what was written since the tables were last on the disk any part may be there, another one torn, a third one gone.
 * The next start leaves the rows of a clean run. `CUTS=50` asks for that many, `SEED=7` runs one again.
 */

import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, rename, rm, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Disk } from '../../aggregator/ledger/checkpoint.ts'
import { applyDurability } from '../../aggregator/store/durability.ts'
import { PriorityQueue } from '../../aggregator/store/priority-queue.ts'
import { isEngineInstalled } from '../../infra/clickhouse/engine/engine.ts'
import { readRunning } from '../../infra/clickhouse/engine/engine-access.ts'
import { enginePaths } from '../../infra/clickhouse/engine/engine-config.ts'
import { openStore, type Store } from '../../infra/clickhouse/store.ts'
import { inProcessLog } from '../../infra/kafka/in-process.ts'
import type { RangeOverwrite } from '../../ingest/model/message.ts'
import { tell } from '../aggregator/listening.ts'
import { networkOf, type Running, startAggregator } from '../aggregator/running.ts'
import { type Random, randomOf } from '../simulation/random.ts'
import { temporaryFolder } from '../support/candlepool.ts'
import { sample } from '../support/sample.ts'
import { cleanRun } from './clean.ts'
import { expectOracle } from './oracle.ts'
import { tellStory } from './story.ts'

const CUTS = sample('CUTS', 2, 8)
const ONE_SEED = process.env['SEED'] === undefined ? undefined : Number(process.env['SEED'])
const CUTS_A_SEED = 4
/** Longer than some flushes take, so that a cut finds a few of them unsynced. */
const SYNC_MS = 400
const PATIENCE_MS = 240_000

const runFile = promisify(execFile)
const seeds = Array.from({ length: Math.ceil(CUTS / CUTS_A_SEED) }, (_, index) => index + 1)

describe.skipIf(!isEngineInstalled() || process.platform !== 'linux')('a power cut', () => {
  test.each(ONE_SEED === undefined ? seeds : [ONE_SEED])(
    `${CUTS_A_SEED} of them leave the rows of a clean run: SEED=%s`,
    { timeout: PATIENCE_MS * (CUTS_A_SEED + 1) },
    async (seed) => {
      const folder = await temporaryFolder()
      onTestFinished(folder.remove)
      const network = networkOf('cut')
      const random = randomOf(seed)
      const story = tellStory(network, random, { withRange: random.chance(0.5) })
      const stated: RangeOverwrite[] = []
      let unstored: RangeOverwrite[] = []
      let lost = 0
      for (let cut = 0; cut <= CUTS_A_SEED; cut++) {
        const machine = await startMachine(folder.path)
        const { store, disk } = machine
        const off = new AbortController()
        const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
        const process = await startAggregator(store.owner, { network, history, disk, death: off.signal })
        const restate = async (statements: RangeOverwrite[]) => {
          unstored = statements
          if (statements.length > 0) await history.append(statements)
          unstored = []
        }
        if (cut === 0) await process.append(story.opening())
        else await tell(store.owner, process, { network, chain: story.chain() })
        await restate(unstored)
        if (cut === CUTS_A_SEED) {
          expect(await process.stop()).toBeUndefined()
          await history.close()
          await cleanRun(store.owner, networkOf('clean'), story.chain(), stated)
          await expectOracle(store.owner, [{ name: `SEED=${seed}`, network, clean: networkOf('clean'), onlyTip: true }])
          await store.close()
          break
        }
        const acting = act(process)
        await sleep(random.between(0, 3 * SYNC_MS))
        off.abort()
        lost += await machine.cutPower(random)
        await process.stop()
        await history.close()
        await acting
        if (random.chance(0.4)) story.fork()

        async function act(process: Running): Promise<void> {
          try {
            while (!off.signal.aborted) {
              const kind = random.pick(['grow', 'grow', 'grow', 'fork', 'restate'])
              if (kind === 'grow') await process.append(story.grow())
              else if (kind === 'fork') await process.append(story.fork().messages)
              else {
                const statements = story.restatement()
                stated.push(...statements)
                await restate(statements)
              }
            }
          } catch (error) {
            if (!off.signal.aborted) throw error
          }
        }
      }
      // Else nothing was at stake.
      expect(lost).toBeGreaterThan(0)
    },
  )
})

type Machine = {
  store: Store
  disk: Disk
  /** Returns how many parts are gone or torn. */
  cutPower(random: Random): Promise<number>
}

async function startMachine(folder: string): Promise<Machine> {
  const store = await openStore({ store: { kind: 'embedded' } }, folder, () => {})
  await applyDurability(store.owner, 'metadata')
  const tables = join(folder, 'clickhouse', 'store')
  const synced = join(folder, 'synced')
  const always = await foldersOf(store)
  const turns = new PriorityQueue()
  let hasPower = true
  return {
    store,
    disk: {
      everyMs: SYNC_MS,
      sync: () =>
        turns.high(async () => {
          const next = `${synced}-next`
          await rm(next, { recursive: true, force: true })
          // What comes and goes while it looks was not answered yet, or is not needed any more.
          await runFile('cp', ['-al', tables, next]).catch(() => undefined)
          if (!hasPower) throw new Error('There is no power.')
          await rm(synced, { recursive: true, force: true })
          await rename(next, synced)
        }),
    },
    async cutPower(random) {
      hasPower = false
      const engine = await readRunning(enginePaths(folder))
      if (!engine) throw new Error('The engine has ended before its time.')
      process.kill(engine.pid, 'SIGKILL')
      await store.failed
      await store.close()
      await turns.high(async () => {})
      return lose({ tables, synced, always }, random)
    },
  }
}

/** Where the tables are that sync every write. */
async function foldersOf({ owner }: Store): Promise<Set<string>> {
  const query = `SELECT toString(uuid) AS uuid FROM system.tables
    WHERE database = currentDatabase() AND (position(engine_full, 'fsync_after_insert = 1') > 0 OR name IN ('migrations', 'retention'))`
  const answer = await owner.query({ query, format: 'JSONEachRow' })
  return new Set((await answer.json<{ uuid: string }>()).map(({ uuid }) => uuid))
}

async function lose(
  { tables, synced, always }: { tables: string; synced: string; always: ReadonlySet<string> },
  random: Random,
): Promise<number> {
  let lost = 0
  for (const prefix of await readdir(tables)) {
    for (const table of await readdir(join(tables, prefix))) {
      if (always.has(table)) continue
      const before = new Set(await readdir(join(synced, prefix, table)).catch(() => []))
      for (const part of await readdir(join(tables, prefix, table), { withFileTypes: true })) {
        if (!part.isDirectory() || before.has(part.name) || part.name === 'detached') continue
        const path = join(tables, prefix, table, part.name)
        const fate = random.pick(['there', 'there', 'gone', 'gone', 'torn'] as const)
        if (fate === 'there') continue
        lost++
        if (fate === 'gone') await rm(path, { recursive: true })
        else await tear(path, random)
      }
    }
  }
  return lost
}

/** A copy, since the file may be one that an older part has as well. */
async function tear(part: string, random: Random): Promise<void> {
  const files = (await readdir(part, { withFileTypes: true })).filter((file) => file.isFile())
  if (files.length === 0) return
  const whole = `${part}-whole`
  await rename(part, whole)
  await mkdir(part)
  await cp(whole, part, { recursive: true })
  await rm(whole, { recursive: true })
  await truncate(join(part, random.pick(files as [(typeof files)[number]]).name), 0)
}
