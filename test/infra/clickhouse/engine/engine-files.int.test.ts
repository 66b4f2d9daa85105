/**
 * Attacks on the process of the embedded engine by its owner, who has all rights and passes no rules: Linux refuses the process each file, program
 * and address that it does not need.
 */
import { execFileSync } from 'node:child_process'
import {
  chmod,
  constants,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connect } from '../../../../infra/clickhouse/client/client.ts'
import { type Engine, isEngineInstalled, startEngine } from '../../../../infra/clickhouse/engine/engine.ts'
import { enginePaths } from '../../../../infra/clickhouse/engine/engine-config.ts'

/** Linux 5.19, where Landlock serves. */
const hasLandlock =
  process.platform === 'linux' && Number.parseFloat(execFileSync('uname', ['-r'], { encoding: 'utf8' })) >= 5.19

const SECRET = 'a-secret-of-the-account'

describe.skipIf(!isEngineInstalled() || !hasLandlock)('the process of the engine', () => {
  let folder: string
  let engine: Engine
  let owner: ClickHouseClient
  let paths: ReturnType<typeof enginePaths>
  let listener: Server
  let connections = 0

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'candlepool-files-'))
    listener = createServer((socket) => {
      connections++
      socket.destroy()
    })
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
    const dataDir = join(folder, 'store')
    paths = enginePaths(dataDir)
    await writeFile(join(folder, 'secret'), SECRET)
    engine = await startEngine({ dataDir })
    owner = connect({ ...engine, ...engine.users.owner, database: 'default' })
    await command('CREATE TABLE kept (number UInt32) ORDER BY number')
    await command('INSERT INTO kept SELECT number FROM numbers(1000)')
  })

  afterAll(async () => {
    await owner?.close()
    await engine?.stop()
    await new Promise((resolve) => listener.close(resolve))
    await rm(folder, { recursive: true, force: true })
  })

  const port = () => (listener.address() as AddressInfo).port
  const command = (query: string) => owner.command({ query })

  /** `ok`, or ClickHouse's error. */
  async function outcome(query: string): Promise<string> {
    try {
      const answer = await owner.exec({ query })
      const text = await answer.stream.toArray()
      return `ok ${Buffer.concat(text as Buffer[])}`
    } catch (error) {
      if (error instanceof ClickHouseError) return `${error.type}: ${error.message}`
      // Of a library in the engine, such as a driver.
      if (error instanceof Error && /^(Poco|std)::/.test(error.message)) return error.message
      throw error
    }
  }

  /** Each file by each way. */
  const WAYS = (file: string) => [
    `SELECT file('${file}')`,
    `SELECT * FROM file('${file}', 'LineAsString', 'line String')`,
    `SELECT * FROM file('${file}', 'LineAsString', 'line String') SETTINGS storage_file_read_method = 'mmap'`,
    `SELECT * FROM file('${file}', 'LineAsString', 'line String') SETTINGS storage_file_read_method = 'pread'`,
    `SELECT sum(length(file(materialize('${file}')))) FROM numbers_mt(1000000) SETTINGS max_threads = 8`,
    `DESCRIBE file('${file}', 'CSV')`,
    `INSERT INTO FUNCTION file('${file}', 'TSV', 'line String') SELECT 'overwritten'`,
  ]

  it.each<[string, () => string]>([
    ['an account', () => '/etc/passwd'],
    ['its environment', () => '/proc/self/environ'],
    ['the environment of a thread', () => '/proc/thread-self/environ'],
    ['its memory', () => '/proc/self/mem'],
    ['the environment of the process that started it', () => `/proc/${process.pid}/environ`],
    ['its passwords', () => paths.passwords],
    ['its configuration', () => paths.config],
    ['its users', () => paths.users],
    ['a file beside its folder', () => join(folder, 'secret')],
    ['a file that a path leads to', () => join(paths.tables, '../../secret')],
    ['a file that its standard streams lead to', () => '/proc/self/cwd/package.json'],
    ['a file of this project', () => join(import.meta.dirname, '../../../../package.json')],
  ])('neither reads nor writes %s', async (_, file) => {
    for (const way of WAYS(file())) {
      const said = await outcome(way)
      expect(said, way).toMatch(/Permission denied|CANNOT_OPEN_FILE/)
    }
    expect(await readFile(join(folder, 'secret'), 'utf8')).toBe(SECRET)
  })

  it('does not read its log', async () => {
    for (const way of WAYS(paths.log).filter((it) => !it.startsWith('INSERT')))
      expect(await outcome(way), way).toMatch(/Permission denied|CANNOT_OPEN_FILE/)
  })

  it('follows no link out of its folder', async () => {
    await mkdir(join(paths.tables, 'user_files'), { recursive: true })
    const link = join(paths.tables, 'user_files', 'link')
    await symlink(join(folder, 'secret'), link)
    for (const way of WAYS(link)) expect(await outcome(way), way).toMatch(/Permission denied/)
  })

  it('reads what it may of /proc, and finds no credential there or in its pipes', async () => {
    const texts = await Promise.all(
      ['self/maps', 'self/cgroup', 'meminfo'].map((it) => outcome(`SELECT file('/proc/${it}')`)),
    )
    expect(texts.every((text) => text.startsWith('ok '))).toBe(true)
    const descriptors = await readdir(`/proc/${engine.pid}/fd`)
    for (const descriptor of descriptors) {
      const path = `/proc/${engine.pid}/fd/${descriptor}`
      if (!(await readlink(path).catch(() => '')).startsWith('pipe:')) continue
      // As a statement would, but one waits for a pipe that is empty.
      const pipe = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
      texts.push(await pipe.read().then(({ bytesRead, buffer }) => buffer.toString('utf8', 0, bytesRead), String))
      await pipe.close()
    }
    expect(texts.length).toBeGreaterThanOrEqual(5)
    const { password } = engine.users.owner
    for (const secret of [password, Buffer.from(`owner:${password}`).toString('base64')])
      expect(texts.join('\n')).not.toContain(secret)
  })

  it.each<[string, () => string]>([
    ['INTO OUTFILE', () => `SELECT 1 INTO OUTFILE '${folder}/out'`],
    ['INTO OUTFILE with TRUNCATE', () => `SELECT 1 INTO OUTFILE '${folder}/secret' TRUNCATE`],
    ['a backup', () => `BACKUP TABLE kept TO File('${folder}/out')`],
    ['a backup beside the folder of backups', () => `BACKUP TABLE kept TO File('../out')`],
    ['a restore', () => `RESTORE TABLE kept FROM File('${folder}')`],
    ['a table of a file', () => `CREATE TABLE of_file (line String) ENGINE = File(LineAsString, '${folder}/secret')`],
    ['a list of files', () => `SELECT name, content FROM filesystem('${folder}') WHERE name = 'secret'`],
    [
      'a dictionary of a file',
      () => `CREATE DICTIONARY of_file (k UInt64, v String) PRIMARY KEY k LAYOUT(FLAT()) LIFETIME(0)
        SOURCE(FILE(path '${folder}/secret' format 'TSV'))`,
    ],
    [
      'a dictionary of a program',
      () => `CREATE DICTIONARY of_program (k UInt64, v String) PRIMARY KEY k LAYOUT(FLAT()) LIFETIME(0)
        SOURCE(EXECUTABLE(command 'touch ${folder}/out' format 'TSV'))`,
    ],
    ['a program', () => "SELECT * FROM executable('touch', 'TSV', 'line String')"],
    ['a program in its folder', () => "SELECT * FROM executable('planted.sh', 'TSV', 'line String')"],
    ['a format of a file', () => `SELECT 1 FORMAT Template SETTINGS format_template_resultset = '${folder}/secret'`],
    ['a schema of a file', () => `SELECT 1 FORMAT Protobuf SETTINGS format_schema = '${folder}/secret:Message'`],
    ['a database of files', () => `CREATE DATABASE files ENGINE = Filesystem('${folder}')`],
    ['a database of SQLite', () => `SELECT * FROM sqlite('${folder}/secret', 'x')`],
    [
      'a disk',
      () => `CREATE TABLE on_disk (n UInt8) ORDER BY n SETTINGS disk = disk(type = 'local', path = '${folder}/disk/')`,
    ],
  ])('makes and reads nothing outside by %s', async (_, query) => {
    await mkdir(join(paths.tables, 'user_scripts'), { recursive: true })
    const planted = join(paths.tables, 'user_scripts', 'planted.sh')
    await writeFile(planted, `#!/bin/sh\ntouch ${folder}/out\necho ${SECRET}\n`)
    await chmod(planted, 0o755)
    const said = [
      await outcome(query()),
      await outcome('SELECT * FROM of_file'),
      await outcome('SELECT dictGet(of_file, 1, 1)'),
      await outcome('SELECT * FROM dictionary(of_file)'),
      await outcome('SELECT * FROM dictionary(of_program)'),
      await outcome('SELECT * FROM files.secret'),
      await outcome('INSERT INTO of_file SELECT 1'),
    ]
    expect(said.join('\n')).not.toContain(SECRET)
    expect(execFileSync('ls', [folder], { encoding: 'utf8' })).toBe('secret\nstore\n')
    expect(await readFile(join(folder, 'secret'), 'utf8')).toBe(SECRET)
    for (const made of ['TABLE IF EXISTS of_file', 'DICTIONARY IF EXISTS of_file', 'DICTIONARY IF EXISTS of_program'])
      await outcome(`DROP ${made} SYNC`)
    await outcome('DROP DATABASE IF EXISTS files')
  })

  it.each<[string, (address: string) => string]>([
    [
      'an address',
      (it) => `SELECT * FROM url('http://${it}/', 'LineAsString', 'line String') SETTINGS http_max_tries = 1`,
    ],
    ['a server', (it) => `SELECT * FROM remote('${it}', system.one) SETTINGS connections_with_failover_max_tries = 1`],
    ['a MySQL server', (it) => `SELECT * FROM mysql('${it}', 'd', 't', 'u', 'p')`],
    ['a Redis server', (it) => `SELECT * FROM redis('${it}', 'k', 'k String, v String')`],
    ['a MongoDB server', (it) => `SELECT * FROM mongodb('${it}', 'd', 't', 'u', 'p', 'k String')`],
  ])('does not connect to %s', async (_, query) => {
    const said = await outcome(query(`127.0.0.1:${port()}`))
    expect(said).toMatch(/Permission denied|CONNECTION|NETWORK_ERROR|connection refused/)
    expect(connections).toBe(0)
  })

  it('does within its folders what the engine needs', async () => {
    await command('CREATE DATABASE one')
    await command('CREATE DATABASE other')
    await command('CREATE TABLE other.kept (number UInt32) ORDER BY number')
    await command('INSERT INTO other.kept SELECT number FROM numbers(1000)')
    await command('OPTIMIZE TABLE other.kept FINAL')
    await command('ALTER TABLE other.kept DELETE WHERE number = 1 SETTINGS mutations_sync = 1')
    await command('RENAME TABLE other.kept TO one.renamed')
    await command("ALTER TABLE one.renamed DETACH PARTITION ID 'all'")
    await command("ALTER TABLE one.renamed ATTACH PARTITION ID 'all'")
    await command('ALTER TABLE one.renamed FREEZE')
    await command("BACKUP TABLE one.renamed TO File('saved')")
    await command('DROP TABLE one.renamed SYNC')
    await command("RESTORE TABLE one.renamed FROM File('saved')")
    expect(await outcome('SELECT count() FROM one.renamed')).toBe('ok 999\n')
    await command('DROP DATABASE other SYNC')
    const spilled = `SELECT count() FROM (SELECT number FROM numbers(3000000) ORDER BY rand())
      SETTINGS max_bytes_before_external_sort = 1000000, max_bytes_ratio_before_external_sort = 0`
    expect(await outcome(spilled)).toBe('ok 3000000\n')
  })
})
