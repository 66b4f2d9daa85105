/** Backup and restore on engines of their own: long ones, and those that come to nothing on the way. */
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backUp, restore } from '../../../infra/clickhouse/backups.ts'
import { connect } from '../../../infra/clickhouse/client/client.ts'
import { findEngine } from '../../../infra/clickhouse/engine/engine-access.ts'
import { migrate } from '../../../infra/clickhouse/migrate.ts'
import { openStore as openTables, type Store } from '../../../infra/clickhouse/store.ts'
import { Died, intercepted } from '../../aggregator/statements.ts'
import { temporaryFolder } from '../../support/candlepool.ts'
import { withoutClickHouse } from '../../support/clickhouse.ts'
import { rowsOf } from '../../support/rows.ts'
import { drawn } from '../../support/sample.ts'
import { addressOf, block, openStore, poolOf, tick } from '../../support/store.ts'

const token = (digits: string) => ({ address: addressOf(digits), symbol: digits, name: digits, decimals: 18 })
const POOL = poolOf(addressOf('f1'), token('a1'), token('b1'))
const EMBEDDED = { store: { kind: 'embedded' } } as const
/** For statements on a database that is not there. */
const ANYWHERE = { 'X-ClickHouse-Database': 'default' }
/** A client that waits for an answer no longer than this. */
const LIMIT_MS = 1_500

describe.skipIf(withoutClickHouse)('a backup', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let other: Awaited<ReturnType<typeof temporaryFolder>>
  let store: Store
  let target: Store

  beforeAll(async () => {
    folder = await temporaryFolder()
    other = await temporaryFolder()
    ;[store, target] = await Promise.all(
      [folder, other].map(({ path }) => openTables(EMBEDDED, path, () => {})) as [Promise<Store>, Promise<Store>],
    )
    const swaps = (number: number) => [
      tick({ pool: POOL, logIndex: 1, amount0: BigInt(number), amount1: -5n, sqrtPriceX96: 2n ** 96n }),
    ]
    const blocks = Array.from({ length: 50 }, (_, index) =>
      block(100 + index, 1_700_000_000 + 12 * index, { ticks: swaps(index + 1), pools: index === 0 ? [POOL] : [] }),
    )
    await openStore(store.owner, 'ethereum')(blocks)
    // 4 MB that do not compress, in a table that is not the service's own.
    await store.owner.command({
      query: 'CREATE TABLE ballast (text String CODEC(NONE)) ENGINE = MergeTree ORDER BY tuple()',
    })
    await store.owner.command({ query: 'INSERT INTO ballast SELECT randomString(1000) FROM numbers(4000)' })
  })
  afterAll(async () => {
    await Promise.all([store?.close(), target?.close()])
    await Promise.all([folder?.remove(), other?.remove()])
  })

  async function withLimit(path: string, settings = {}): Promise<Store['shards']> {
    const engine = await findEngine(path)
    if (!engine) throw new Error('unreachable')
    const { url, database, users } = engine
    return [connect({ url, database, ...users.owner, requestTimeoutMs: LIMIT_MS, settings })]
  }
  const bring = (name: string) =>
    cp(join(folder.path, 'backups', name), join(other.path, 'backups', name), { recursive: true })
  const databases = async () => {
    const query = "SELECT name FROM system.databases WHERE name LIKE 'candlepool%' ORDER BY name"
    const answer = await target.owner.query({ query, format: 'JSONEachRow' })
    return (await answer.json<{ name: string }>()).map(({ name }) => name)
  }

  async function expectRestored(): Promise<void> {
    for (const table of ['blocks', 'ticks', 'candles', 'pools'] as const)
      expect(await rowsOf(target.owner, table)).toEqual(await rowsOf(store.owner, table))
    const answer = await target.owner.query({
      query: 'SELECT count() AS trades FROM market_ticks',
      format: 'JSONEachRow',
    })
    expect(await answer.json()).toEqual([{ trades: '50' }])
  }

  test('a backup that takes longer than the time limit of an answer is followed to its end, with its progress', async () => {
    const lines: string[] = []
    const shards = await withLimit(folder.path, { max_backup_bandwidth: '1000000' })
    const began = performance.now()
    await backUp({ shards }, 'slow', (line) => lines.push(line))
    expect(performance.now() - began).toBeGreaterThan(LIMIT_MS)
    expect(lines.at(-1)).toMatch(/^Saving the rows: \d+ files, 4 MB$/)
    await Promise.all(shards.map((client) => client.close()))
  })

  test.each([
    ['without its ledger', (path: string) => rm(join(path, 'ledger'), { recursive: true })],
    ['with a damaged file', damage],
  ])('a backup %s is refused, and the tables stay as they were', async (name, spoil) => {
    await backUp(store, name.replaceAll(' ', '-'), () => {})
    await bring(name.replaceAll(' ', '-'))
    await spoil(join(other.path, 'backups', name.replaceAll(' ', '-')))
    await expect(restore(target, name.replaceAll(' ', '-'), () => {})).rejects.toThrow()
    expect(await databases()).toEqual(['candlepool'])
    const answer = await target.owner.query({ query: 'SELECT name FROM migrations', format: 'JSONEachRow' })
    expect((await answer.json()).length).toBeGreaterThan(10)
  })

  test('a backup is restored without views and tables that it should not have', async () => {
    const statements = [
      'CREATE MATERIALIZED VIEW spy TO halts AS SELECT name AS network FROM api_keys',
      "CREATE TABLE sent (n UInt8) ENGINE = URL('http://127.0.0.1:9/', 'CSV')",
    ]
    for (const query of statements) await store.owner.command({ query })
    await backUp(store, 'strange', () => {})
    await store.owner.command({ query: 'DROP TABLE spy' })
    await store.owner.command({ query: 'DROP TABLE sent' })
    await bring('strange')
    await restore(target, 'strange', () => {})
    await expectRestored()
    const query = "SELECT name FROM system.tables WHERE name IN ('spy', 'sent', 'ballast')"
    const answer = await target.owner.query({ query, format: 'JSONEachRow' })
    expect(await answer.json()).toEqual([])
    await target.owner.command({ query: 'DROP DATABASE candlepool SYNC', http_headers: ANYWHERE })
    await migrate(target.owner, { database: 'candlepool' })
  })

  test('a backup with a table of another engine is refused, and the tables stay as they were', async () => {
    await store.owner.command({ query: 'RENAME TABLE published TO kept' })
    await store.owner.command({ query: "CREATE TABLE published (n UInt8) ENGINE = URL('http://127.0.0.1:9/', 'CSV')" })
    await backUp(store, 'altered', () => {})
    await store.owner.command({ query: 'DROP TABLE published' })
    await store.owner.command({ query: 'RENAME TABLE kept TO published' })
    await bring('altered')
    await expect(restore(target, 'altered', () => {})).rejects.toThrow(/published is no table of rows/)
    expect(await databases()).toEqual(['candlepool'])
  })

  test('a backup is not restored over a store of backfills alone', async () => {
    await target.owner.command({
      query:
        "INSERT INTO coverage (network, filter, source, first, last, job) VALUES ('ethereum', '', 'backfill', 1, 2, 1)",
    })
    await bring('slow')
    await expect(restore(target, 'slow', () => {})).rejects.toThrow(/hold something already/)
    await target.owner.command({ query: 'TRUNCATE TABLE coverage' })
  })

  const LAST = [
    'DROP DATABASE IF EXISTS candlepool_replaced',
    'RENAME DATABASE candlepool TO',
    'RENAME DATABASE candlepool_restored TO',
    'CREATE OR REPLACE VIEW market_pools',
    'CREATE OR REPLACE VIEW market_candles',
    'DROP DATABASE candlepool_replaced',
  ]
  test.each(drawn('killed restores', LAST, 2))(
    'a restore that is killed after %s is whole after a start, or after the same command',
    async (last) => {
      await bring('slow')
      let isDead = false
      const mortal = intercepted(target.owner, async (send, _, [options]) => {
        if (isDead) throw new Died('The process is dead.')
        const answer = await send()
        if ((options as { query: string }).query.includes(last)) isDead = true
        return answer
      })
      const dying = restore({ shards: [mortal], servers: [mortal] }, 'slow', () => {})
      const outcome = await dying.then(
        () => 'done',
        () => 'died',
      )
      expect(outcome).toBe(last === 'DROP DATABASE candlepool_replaced' ? 'done' : 'died')
      expect(isDead).toBe(true)
      await migrate(target.owner, { database: 'candlepool' })
      await restore(target, 'slow', () => {}).catch((error: Error) => expect(error.message).toMatch(/hold something/))
      await expectRestored()
      await target.owner.command({ query: 'DROP DATABASE candlepool SYNC', http_headers: ANYWHERE })
      await migrate(target.owner, { database: 'candlepool' })
    },
  )

  test('a backup is restored whole, over what a restore that was cut off has left beside the tables', async () => {
    await target.owner.command({ query: 'CREATE DATABASE candlepool_restored' })
    await target.owner.command({
      query: 'CREATE TABLE candlepool_restored.ticks (number UInt8) ENGINE = MergeTree ORDER BY number',
    })
    const lines: string[] = []
    await restore(target, 'slow', (line) => lines.push(line))
    await expectRestored()
    expect(await databases()).toEqual(['candlepool'])
    expect(lines).toContain('Checking ticks')
  })
})

/** One byte in the middle of the largest file of ticks. */
async function damage(path: string): Promise<void> {
  const files = await readdir(path, { recursive: true, withFileTypes: true })
  const data = files
    .filter((file) => file.isFile() && file.name === 'data.bin' && file.parentPath.includes('/ticks/'))
    .map((file) => join(file.parentPath, file.name))
  const read = await Promise.all(data.map(async (file) => ({ file, bytes: await readFile(file) })))
  const [largest] = read.sort((a, b) => b.bytes.length - a.bytes.length)
  if (!largest) throw new Error('unreachable')
  const at = Math.floor(largest.bytes.length / 2)
  largest.bytes[at] = (largest.bytes[at] ?? 0) ^ 0xff
  await writeFile(largest.file, largest.bytes)
}
