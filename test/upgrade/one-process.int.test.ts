/** `npm start` in one version after another, on the same folder, while it is read and its chain grows. */
import { cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { type Running, run, temporaryFolder, untilReady } from '../support/candlepool.ts'
import { withoutClickHouse } from '../support/clickhouse.ts'
import { freePorts } from '../support/free-ports.ts'
import { inSoak } from '../support/sample.ts'
import { cleanRun, started, withTables } from './embedded.ts'
import { startFollowers } from './followers.ts'
import { print, startLoad } from './load.ts'
import {
  command,
  expectRows,
  expectServed,
  FOLLOWED,
  type GrowingChain,
  KEY,
  marketOf,
  PATHS,
  startGrowingChain,
} from './scene.ts'
import { firstTree, nextTree, type Upgrade } from './trees.ts'

const STEADY_MS = 15_000
const BACKUP = 'before-upgrade'
const first = inSoak.skip ? undefined : await firstTree()
const next = inSoak.skip ? undefined : await nextTree()

describe.skipIf(withoutClickHouse || inSoak.skip)('npm start', () => {
  afterAll(async () => {
    await first?.remove()
    await next?.remove()
  })

  test.skipIf(!first)('is upgraded from the first version to this one, and back', () =>
    upgrade('the first version to this one', { from: first?.root, to: undefined, isRebuilt: true }),
  )

  test('is upgraded from this version to a later one, and back', () =>
    upgrade('this version to a later one', { from: undefined, to: next?.root, isRebuilt: false }))
})

async function upgrade(title: string, { from, to, isRebuilt }: Upgrade): Promise<void> {
  const chain = await startGrowingChain()
  const folder = await temporaryFolder()
  const [port] = await freePorts(1)
  const environment = { ...chain.environment, DATA_DIR: folder.path, PORT: String(port) }
  const url = `http://127.0.0.1:${port}`
  const load = startLoad(KEY, PATHS, chain.head)
  const followers = startFollowers(KEY, FOLLOWED, load.asked)
  let main: Running | undefined
  try {
    main = await started(from, environment)
    await load.untilAtHead(url)
    load.ask([url])
    await sleep(STEADY_MS)
    load.step('backup')
    await command(from, environment, 'backup', BACKUP)
    load.step('restart', 'outage')
    await main.stop('SIGTERM')
    main = await started(to, environment)
    const seconds = await load.untilAtHead(url)
    load.step('after')
    await sleep(STEADY_MS)
    if (isRebuilt) {
      load.step('rebuild')
      await command(to, environment, 'rebuild', '--network', 'ethereum')
    }
    await sleep(STEADY_MS)
    chain.end()
    await load.untilAtHead(url)
    const opened = await followers.untilAnswered(url)
    const log = await load.stop()
    print(
      `One process, ${title}; ${FOLLOWED.length} streams, opened ${opened} times: at the head ${seconds.toFixed(1)} s after the new one listened`,
      log,
    )
    await command(to, environment, 'verify', '--network', 'ethereum')
    const upgraded = await withTables(folder.path, chain, marketOf)
    await main.stop('SIGTERM')
    main = undefined
    expectServed(log, ['restart'])
    expect(upgraded).toEqual(await cleanRun(to, chain))
    await wayBack(from, chain, folder.path, upgraded)
  } catch (error) {
    print(`One process, ${title}, until it failed`, await load.stop())
    console.log(main?.output())
    throw error
  } finally {
    followers.stop()
    await main?.stop('SIGKILL')
    await chain.stop()
    await folder.remove()
  }
}

/** The backup from before, with the version that made it. */
async function wayBack(
  root: string | undefined,
  chain: GrowingChain,
  dataDir: string,
  upgraded: Record<string, string[]>,
): Promise<void> {
  const folder = await temporaryFolder()
  await mkdir(join(folder.path, 'store'), { recursive: true })
  await cp(join(dataDir, 'store/backups'), join(folder.path, 'store/backups'), { recursive: true })
  const environment = { ...chain.environment, DATA_DIR: folder.path, PORT: '0' }
  await command(root, environment, 'restore', BACKUP)
  const main = run('start', environment, [], { root })
  const { url } = await untilReady(main)
  const count = 'SELECT count() AS ticks FROM ticks FINAL'
  const ticks = await withTables(folder.path, chain, async (client) => {
    const answer = await client.query({ query: count, format: 'JSONEachRow' })
    return (await answer.json<{ ticks: string }>())[0]?.ticks
  })
  expect(Number(ticks)).toBe(upgraded['ticks']?.length)
  await expectRows(url)
  await main.stop('SIGTERM')
  await folder.remove()
}
