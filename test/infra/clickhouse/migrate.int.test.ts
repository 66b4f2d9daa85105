import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { migrate } from '../../../infra/clickhouse/migrate.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'

describe.skipIf(withoutClickHouse)('migrate', () => {
  let db: TestDatabase
  let directory: string

  beforeEach(async () => {
    db = await freshDatabase()
    directory = await mkdtemp(join(tmpdir(), 'candlepool-migrations-'))
    // The real migrations of `freshDatabase` are unknown to this directory.
    await db.client.command({ query: `DROP DATABASE ${db.database} SYNC`, http_headers: DEFAULT_DATABASE })
  })

  afterEach(async () => {
    await db.client.command({ query: `CREATE DATABASE IF NOT EXISTS ${db.database}`, http_headers: DEFAULT_DATABASE })
    await db.drop()
    await rm(directory, { recursive: true, force: true })
  })

  it('applies the files in order, inside a database that it makes, and nothing the second time', async () => {
    await write('0002_second.sql', "INSERT INTO marks VALUES ('second; really');")
    await write('0001_first.sql', '-- Marks;\nCREATE TABLE IF NOT EXISTS marks (mark String) ORDER BY mark;\n')
    expect(await run()).toEqual(['0001_first', '0002_second'])
    expect(await run()).toEqual([])
    expect(await marks()).toEqual(['second; really'])
    await write('0003_third.sql', "INSERT INTO marks VALUES ('third')")
    expect(await run()).toEqual(['0003_third'])
    expect(await marks()).toEqual(['second; really', 'third'])
  })

  it('applies a file once where two processes come at the same time', async () => {
    await write('0001_first.sql', 'CREATE TABLE IF NOT EXISTS marks (mark String) ORDER BY mark;')
    for (const mark of [2, 3, 4, 5])
      await write(`000${mark}_mark.sql`, `INSERT INTO marks SELECT '${mark}' WHERE sleep(0.2) = 0;`)
    const script = join(import.meta.dirname, 'migrate-process.ts')
    const args = ['--import', 'tsx', script, JSON.stringify(db.connection), directory]
    const outputs = await Promise.all([1, 2].map(() => promisify(execFile)(process.execPath, args)))
    const applied = outputs.map(({ stdout }) => JSON.parse(stdout) as string[])
    expect(applied.map(({ length }) => length).sort()).toEqual([0, 5])
    expect(await marks()).toEqual(['2', '3', '4', '5'])
  })

  it('makes views once all tables are up to date, also those that a restored database lacks', async () => {
    await write('0001_first.sql', 'CREATE TABLE IF NOT EXISTS marks (mark String) ORDER BY mark;')
    await write('0002_views.sql', 'CREATE OR REPLACE VIEW shown AS SELECT mark FROM marks;')
    await run()
    await db.client.command({ query: 'DROP VIEW shown' })
    await write('0003_third.sql', 'CREATE OR REPLACE VIEW shouted AS SELECT upper(mark) AS mark FROM shown;')
    await write('0004_fourth.sql', "INSERT INTO marks VALUES ('fourth');")
    expect(await run()).toEqual(['0003_third', '0004_fourth'])
    const result = await db.client.query({ query: 'SELECT mark FROM shouted', format: 'JSONEachRow' })
    expect(await result.json()).toEqual([{ mark: 'FOURTH' }])
  })

  it('refuses a file that was changed after it had been applied', async () => {
    await write('0001_first.sql', 'SELECT 1')
    await run()
    await write('0001_first.sql', 'SELECT 2')
    await expect(run()).rejects.toThrowErrorMatchingInlineSnapshot(
      `[MigrationError: 0001_first.sql was changed after it had been applied: restore it, and put the change into a new file]`,
    )
  })

  it('refuses a database that is ahead of the program', async () => {
    await write('0001_first.sql', 'SELECT 1')
    await run()
    await rm(join(directory, '0001_first.sql'))
    await expect(run()).rejects.toThrowErrorMatchingInlineSnapshot(
      `[MigrationError: the database has the migration 0001_first, which this version does not know: run the version that made it, or a later one]`,
    )
  })

  it('names the statement that failed, and resumes there once it is corrected', async () => {
    await write('0001_first.sql', 'CREATE TABLE IF NOT EXISTS marks (mark String) ORDER BY mark; SELECT nonsense;')
    await expect(run()).rejects.toThrow(/^0001_first\.sql, statement 2: .*nonsense/)
    await write(
      '0001_first.sql',
      "CREATE TABLE IF NOT EXISTS marks (mark String) ORDER BY mark; INSERT INTO marks VALUES ('1');",
    )
    expect(await run()).toEqual(['0001_first'])
    expect(await marks()).toEqual(['1'])
  })

  it('waits until the rows are rewritten, however long that takes', async () => {
    await write('0001_first.sql', 'CREATE TABLE IF NOT EXISTS marks (mark String) ORDER BY tuple();')
    await write('0002_second.sql', "INSERT INTO marks VALUES ('first');")
    await write(
      '0003_third.sql',
      "ALTER TABLE marks UPDATE mark = concat(mark, ' rewritten') WHERE sleep(1) = 0 SETTINGS mutations_sync = 0; INSERT INTO marks SELECT mark FROM marks;",
    )
    await run()
    expect(await marks()).toEqual(['first rewritten', 'first rewritten'])
  })

  it('says why rows cannot be rewritten', async () => {
    await write('0001_first.sql', 'CREATE TABLE IF NOT EXISTS marks (mark String) ORDER BY tuple();')
    await write('0002_second.sql', "INSERT INTO marks VALUES ('first');")
    await write(
      '0003_third.sql',
      "ALTER TABLE marks UPDATE mark = toString(throwIf(mark != '')) WHERE 1 SETTINGS mutations_sync = 0;",
    )
    await expect(run()).rejects.toThrow(/^0003_third\.sql, statement 1: .*UPDATE mark = .* fails: .*throwIf/s)
  })

  it('refuses names without a number and numbers that are given twice', async () => {
    await write('first.sql', 'SELECT 1')
    await expect(run()).rejects.toThrowErrorMatchingInlineSnapshot(
      `[MigrationError: first.sql is not named like 0001_name.sql]`,
    )
    await rm(join(directory, 'first.sql'))
    await write('0001_one.sql', 'SELECT 1')
    await write('0001_two.sql', 'SELECT 1')
    await expect(run()).rejects.toThrowErrorMatchingInlineSnapshot(
      `[MigrationError: two migrations have the number 0001: give 0001_two.sql the next free one]`,
    )
  })

  const run = () => migrate(db.client, { database: db.database, directory })
  const write = (file: string, sql: string) => writeFile(join(directory, file), sql)
  async function marks() {
    const result = await db.client.query({ query: 'SELECT mark FROM marks ORDER BY mark', format: 'JSONEachRow' })
    return (await result.json<{ mark: string }>()).map(({ mark }) => mark)
  }
})

describe.skipIf(withoutClickHouse)('the migrations of this repository', () => {
  it('make a database, and can be applied to it again', async () => {
    const db = await freshDatabase()
    expect(await migrate(db.client, db)).toEqual([])
    await db.client.command({ query: 'TRUNCATE TABLE migrations' })
    const again = await migrate(db.client, db)
    expect(again[0]).toBe('0001_blocks')
    await db.drop()
  })
})

const DEFAULT_DATABASE = { 'X-ClickHouse-Database': 'default' }
