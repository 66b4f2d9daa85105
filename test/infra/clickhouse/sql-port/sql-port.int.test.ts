/** Attacks on SQL_PORT, on a real engine: each is refused with an error that names the rule, and none reads a file. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask } from '../../../../aggregator/store/store.ts'
import { isEngineInstalled } from '../../../../infra/clickhouse/engine/engine.ts'
import { readRunning } from '../../../../infra/clickhouse/engine/engine-access.ts'
import { enginePaths } from '../../../../infra/clickhouse/engine/engine-config.ts'
import { isListedFunction, isListedTableFunction } from '../../../../infra/clickhouse/sql-port/sql-functions.ts'
import { type SqlPort, startSqlPort } from '../../../../infra/clickhouse/sql-port/sql-port.ts'
import { openStore, type Store } from '../../../../infra/clickhouse/store.ts'
import { readConfig } from '../../../../infra/config/config.ts'

const SECRET = 'a-secret-of-the-account'
const FILE = join(tmpdir(), `candlepool-secret-${process.pid}`)

describe.skipIf(!isEngineInstalled())('SQL_PORT', () => {
  const stopping = new AbortController()
  let folder: string
  let store: Store
  let port: SqlPort
  let password: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'candlepool-sql-'))
    await writeFile(FILE, SECRET)
    store = await openStore(readConfig({}), folder, () => undefined)
    if (!store.engine) throw new Error('there is no engine')
    password = store.engine.sqlPassword
    port = await startSqlPort({ engine: store.engine, host: '127.0.0.1', port: 0, signal: stopping.signal })
  })

  afterAll(async () => {
    stopping.abort()
    await port?.closed
    await store?.close()
    await Promise.all([folder ?? FILE, FILE].map((path) => rm(path, { recursive: true, force: true })))
  })

  type Asked = { path?: string; method?: string; headers?: Record<string, string>; body?: string | Buffer }

  /** Status and text of the answer. */
  function send({ path = '/', method = 'POST', headers = {}, body = '' }: Asked): Promise<string> {
    const options = { host: '127.0.0.1', port: port.port, path, method, agent: false }
    return new Promise((resolve, reject) => {
      const asked = request({ ...options, headers: { authorization: basic(), ...headers } }, (answer) => {
        text(answer).then((content) => resolve(`${answer.statusCode} ${content.trim()}`), reject)
      })
      asked.once('error', reject)
      asked.end(body)
    })
  }

  const basic = () => `Basic ${Buffer.from(`analyst:${password}`).toString('base64')}`
  const inUrl = (statement: string) => `?query=${encodeURIComponent(statement)}`

  async function expectRefused(asked: Asked, reason: RegExp): Promise<void> {
    const answer = await send(asked)
    expect(answer).toMatch(/^[45]\d\d Code: \d+\. DB::Exception: /)
    expect(answer).toMatch(reason)
    expect(answer).not.toContain(SECRET)
  }

  test.each([
    'SELECT 1',
    'SELECT count() FROM market_pools',
    'SELECT count() FROM candlepool.market_ticks WHERE pool = toString(1)',
    'WITH c AS (SELECT time, close FROM market_candles) SELECT count() FROM c AS `ä "quoted" name\'`',
    "SELECT 'file(\\'/etc/passwd\\')', 'profile' AS `file`",
    'SELECT * EXCEPT (x) REPLACE (y + 1 AS y) FROM (SELECT 1 AS x, 2 AS y) -- a comment;',
    'SELECT sumIf(number, number > 1), quantilesExactIf(0.1, 0.9)(number, 1), uniqArray([1]) FROM numbers(5)',
    'SELECT number, lagInFrame(number) OVER (ORDER BY number) FROM numbers(3) ORDER BY 1 WITH FILL TO 9 FORMAT JSON',
    '(SELECT 1) UNION ALL (SELECT 2) EXCEPT (SELECT 3)',
    'SELECT 1 IN (SELECT 2), EXISTS(SELECT 1), CASE WHEN 1 THEN 2 END, [1, 2][1], (1, 2).1, {x:UInt8} AS y',
    "SELECT * FROM VALUES('a UInt8', 1, 2)",
    'DESCRIBE market_ticks',
    'DESC (SELECT pool FROM market_ticks) FORMAT TSKV',
    'SHOW TABLES;',
    'SHOW CREATE TABLE market_candles',
    "SELECT name FROM system.tables WHERE database = 'candlepool'",
    'SELECT name, alias_to FROM system.data_type_families LIMIT 1',
    'SELECT version(), currentUser(), timezone()',
  ])('answers %s', async (statement) => {
    expect(await send({ body: statement, path: '/?param_x=7' })).toMatch(/^200 /)
  })

  const CALL = `file('${FILE}')`

  /** Each place of a statement where an expression may be: the parse shows the function, or the place itself is refused. */
  const PLACES = [
    'SELECT F',
    "SELECT 1 AS `a'`, F AS `b'`",
    'SELECT 1 AS "a\'", F AS "b\'"',
    "SELECT 1 AS `a\\`'`, F",
    "SELECT 'it''s' || F || '\\''",
    "SELECT 1 /* ' */, F /* ' */",
    "SELECT 1 -- '\n, F -- '",
    "SELECT 1 # '\n, F",
    "SELECT $$'$$, F AS x, $a$'$a$",
    'SELECT 1 AS `a\n Literal 1) (children 1)`, F',
    'SELECT\u00a0F',
    "SELECT fIlE/**/(concat('', substring(F, 1)))",
    'WITH F AS x SELECT x',
    'WITH (SELECT F) AS x SELECT x',
    'WITH RECURSIVE c AS (SELECT F) SELECT 1',
    'WITH c AS MATERIALIZED (SELECT F) SELECT * FROM c',
    'WITH (x -> file(x)) AS f SELECT f(1)',
    'SELECT DISTINCT ON (F) 1',
    'SELECT (SELECT F)',
    'SELECT arrayMap(x -> F, [1])',
    'SELECT 1 FROM numbers(length(F))',
    "SELECT 1 FROM VALUES('a String', (F))",
    'SELECT a FROM (SELECT 1) ARRAY JOIN [F] AS a',
    'SELECT 1 FROM numbers(1) AS a JOIN numbers(1) AS b ON F',
    'SELECT 1 FROM numbers(1) PREWHERE F',
    'SELECT 1 FROM numbers(1) WHERE F',
    'SELECT 1 GROUP BY GROUPING SETS ((F), (1))',
    'SELECT 1 HAVING F',
    'SELECT 1 QUALIFY F',
    'SELECT sum(1) OVER w WINDOW w AS (PARTITION BY F)',
    'SELECT sum(1) OVER (ORDER BY F)',
    'SELECT sum(1) OVER (ROWS BETWEEN 1 PRECEDING AND length(F) FOLLOWING)',
    'SELECT 1 ORDER BY F',
    'SELECT 1 AS x ORDER BY x WITH FILL FROM 1 TO length(F) STEP length(F)',
    'SELECT 1 AS x, 2 AS y ORDER BY x WITH FILL INTERPOLATE (y AS F)',
    'SELECT 1 LIMIT 1 BY F',
    'SELECT 1 LIMIT length(F)',
    'SELECT 1 LIMIT 1 OFFSET length(F)',
    'SELECT 1 ORDER BY 1 OFFSET 1 ROWS FETCH FIRST length(F) ROWS ONLY',
    'SELECT * REPLACE (F AS a) FROM (SELECT 1 AS a)',
    "SELECT COLUMNS('a') REPLACE (F AS a) FROM (SELECT 1 AS a)",
    'SELECT COLUMNS(F, a) FROM (SELECT 1 AS a)',
    'SELECT quantile(length(F))(1)',
    'SELECT sum(1) FILTER (WHERE F)',
    'SELECT CASE WHEN F THEN F ELSE F END',
    'SELECT INTERVAL length(F) DAY',
    'SELECT F::String, CAST(F AS String)',
    'SELECT 1 IN (SELECT F), 1 = ANY (SELECT F), EXISTS (SELECT F)',
    'SELECT [1][length(F)], (F).1, {x:String}',
    'SELECT 1 UNION ALL SELECT F',
    'SELECT 1 INTERSECT SELECT F',
    'SELECT 1 FROM view(SELECT F)',
    'DESCRIBE (SELECT F)',
    'DESCRIBE TABLE numbers(length(F))',
  ]

  test.each(PLACES)('refuses a function that reads files in %s', async (place) => {
    const body = place.replaceAll('F', CALL)
    await expectRefused(
      { body, path: '/?param_x=1' },
      /rule functions: (file|view) |rule statements: INTO OUTFILE |SYNTAX_ERROR/i,
    )
  })

  const QUOTED = FILE.replaceAll("'", "\\'")
  test.each<[string, RegExp]>([
    [`SELECT \`file\`('${QUOTED}')`, /rule functions: file /],
    [`SELECT "file"('${QUOTED}')`, /rule functions: file /],
    [`SELECT \`\\x66ile\`('${QUOTED}')`, /rule functions: file /],
    [`SELECT \`file\n\`('${QUOTED}')`, /rule functions: file /],
    [`SELECT * APPLY(file) FROM (SELECT '${FILE}' AS a)`, /rule functions: APPLY /],
    [`SELECT COLUMNS('a') APPLY x -> file(x) FROM (SELECT '${FILE}' AS a)`, /rule functions: APPLY /],
    // The engine takes the name of a function for the function.
    [`SELECT arrayMap(file, ['${FILE}'])`, /rule functions: file /],
    [`SELECT arrayMap((\`file\`) AS f, ['${FILE}'])`, /rule functions: file /],
    [`WITH file AS f SELECT arrayMap(f, ['${FILE}'])`, /rule functions: file /],
    [`SELECT arrayFilter({f:Identifier}, ['${FILE}'])`, /rule functions: file /],
    [`SELECT arrayReduce('anyState', ['${FILE}'])`, /rule functions: arrayReduce /],
    [`SELECT {f:Identifier}('${FILE}')`, /SYNTAX_ERROR/],
    [`SHOW TABLES WHERE name = ${CALL}`, /rule statements/],
    [`SHOW COLUMNS FROM market_ticks WHERE field = ${CALL}`, /rule statements/],
    [`SHOW FUNCTIONS ILIKE '%'`, /rule statements/],
    [`EXPLAIN SELECT ${CALL}`, /rule statements/],
    [`EXPLAIN AST optimize = 1 SELECT (SELECT ${CALL})`, /rule statements/],
    [`EXPLAIN QUERY TREE SELECT (SELECT ${CALL})`, /rule statements/],
    [`SELECT * FROM (EXPLAIN SELECT (SELECT ${CALL}))`, /rule functions/],
    [`SELECT * FROM viewExplain('EXPLAIN QUERY TREE', '', (SELECT ${CALL}))`, /rule functions: viewExplain /],
    // With the words `EXPLAIN AST` before it, `optimize = 1` would be an option that runs subqueries, and its error tell what they read.
    [`optimize = 1 FROM (SELECT toUInt8(${CALL}) AS optimize)`, /SYNTAX_ERROR/],
    [`optimize = 1 SELECT toUInt8((SELECT ${CALL}))`, /SYNTAX_ERROR/],
    [`, optimize = 1 SELECT toUInt8((SELECT ${CALL}))`, /SYNTAX_ERROR/],
    [`graph = 1, optimize = 1 SELECT 1`, /SYNTAX_ERROR/],
    [`SELECT * FROM file('${FILE}', 'LineAsString')`, /rule functions: file /],
    [`SELECT 1 IN file('${FILE}', 'LineAsString')`, /rule functions: file /],
    [`DESCRIBE file('${FILE}')`, /rule functions: file /],
    ["SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')", /rule functions: url /],
    ["SELECT * FROM s3('http://127.0.0.1:1/', 'LineAsString')", /rule functions: s3 /],
    ["SELECT * FROM executable('id', 'TSV', 'x String')", /rule functions: executable /],
    ["SELECT * FROM remote('127.0.0.1', system.one)", /rule functions: remote /],
    [`SELECT * FROM filesystem('${tmpdir()}')`, /rule functions: filesystem /],
    ["SELECT * FROM merge('candlepool', '.*')", /rule functions: merge /],
    [`SELECT * FROM eval('SELECT 1')`, /rule functions: eval /],
    ["SELECT * FROM dictionary('x')", /rule functions: dictionary /],
    ["SELECT dictGet('x', 'y', 1)", /rule functions: dictGet /],
    ["SELECT joinGet('candlepool.api_keys', 'name', 1)", /rule functions: joinGet /],
    ["SELECT hasColumnInTable('candlepool', 'api_keys', 'name')", /rule functions: hasColumnInTable /],
    ["SELECT aiGenerate('x')", /rule functions: aiGenerate /],
    ["SELECT getServerSetting('path')", /rule functions: getServerSetting /],
    ["SELECT getClientHTTPHeader('authorization')", /rule functions: getClientHTTPHeader /],
    ["SELECT formatRow('CSV', 1)", /rule functions: formatRow /],
    ["SELECT sumMerge(CAST('x' AS AggregateFunction(sum, UInt8)))", /rule functions: sumMerge /],
    ['SELECT sleep(3)', /rule functions: sleep /],
    ["SELECT catboostEvaluate('/x', 1)", /rule functions: catboostEvaluate /],
    ['SELECT hostName()', /rule functions: hostName /],
    ...['api_keys', 'usage', 'credit_claims', 'ticks', 'pools', 'candles'].map((table): [string, RegExp] => [
      `SELECT count() FROM ${table}`,
      /Not enough privileges/,
    ]),
    ...['blocks', 'liquidity_changes', 'pool_balance_hours'].flatMap((table): [string, RegExp][] => [
      [`SELECT * FROM ${table}`, /Not enough privileges/],
      [`SELECT 1 IN ${table}`, /Not enough privileges/],
      [`DESCRIBE ${table}`, /Not enough privileges/],
      [`SELECT * FROM candlepool.${table}`, /rule tables: candlepool\./],
      [`SHOW CREATE TABLE ${table}`, /rule statements/],
    ]),
    ['SELECT * FROM {t:Identifier}', /Not enough privileges/],
    ['SELECT * FROM candlepool.{t:Identifier}', /rule tables: candlepool\.api_keys /],
    ['SELECT * FROM `candlepool`.`api_keys`', /rule tables: candlepool\.api_keys /],
    ['SELECT * FROM `candlepool.market_ticks (alias x)`', /UNKNOWN_TABLE/],
    ['SELECT * FROM system.users', /rule tables: system\.users /],
    ['SELECT query FROM system.processes', /rule tables: system\.processes /],
    ['SELECT 1 IN system.users', /Not enough privileges/],
    ['SELECT * FROM information_schema.tables', /rule tables: information_schema/],
    [`SELECT 1 SETTINGS max_threads = 64`, /READONLY/],
    [`SELECT 1 SETTINGS max_threads = 1`, /rule settings/],
    ['SELECT * FROM (SELECT 1 SETTINGS max_memory_usage = 0)', /rule settings/],
    ['SELECT (SELECT 1 SETTINGS readonly = 0)', /rule settings/],
    [`SELECT 1 FORMAT Template SETTINGS format_template_resultset = '${FILE}'`, /READONLY/],
    ["SELECT 1 SETTINGS dialect = 'prql'", /READONLY/],
    ['SELECT 1 FORMAT Template', /rule formats: Template /],
    ['SELECT 1 FORMAT Protobuf', /rule formats: Protobuf /],
    ['DESCRIBE market_ticks FORMAT MySQLWire', /rule formats: MySQLWire /],
    ["SELECT 1 INTO OUTFILE '/tmp/candlepool-outfile'", /rule statements: INTO OUTFILE /],
    ["SELECT 1 INTO OUTFILE '/tmp/candlepool-outfile' TRUNCATE FORMAT TSV", /rule statements: INTO OUTFILE /],
    ["SHOW TABLES INTO OUTFILE '/tmp/candlepool-outfile'", /rule statements/],
    ['SELECT 1; SELECT 2', /Multi-statements are not allowed/],
    ['DROP TABLE ticks', /rule statements/],
    ["INSERT INTO ticks (network) VALUES ('x')", /rule statements/],
    [`INSERT INTO FUNCTION file('${FILE}', 'TSV', 'x String') SELECT 1`, /rule statements/],
    ['CREATE TEMPORARY TABLE mine (x UInt8)', /rule statements/],
    ['CREATE FUNCTION f AS x -> x', /rule statements/],
    ['SET max_threads = 64', /rule statements/],
    ['USE system', /rule statements/],
    ['KILL QUERY WHERE 1', /rule statements/],
    ['SYSTEM SHUTDOWN', /rule statements/],
    ["BACKUP TABLE ticks TO File('x')", /rule statements/],
    ['SHOW PROCESSLIST', /rule statements/],
    ['SHOW GRANTS', /rule statements/],
    ['SELECT 1 PARALLEL WITH SELECT 2', /rule statements/],
    ['1 + 1', /SYNTAX_ERROR/],
    ['-- nothing', /SYNTAX_ERROR/],
    [`SELECT ${'('.repeat(2_000)}1${')'.repeat(2_000)}`, /TOO_DEEP|SYNTAX_ERROR/],
    [`SELECT ${'1,'.repeat(30_000)}1`, /TOO_BIG_AST/],
  ])('refuses %s', async (body, reason) => {
    await expectRefused({ body, path: '/?param_t=api_keys&param_f=file' }, reason)
    if (body.length < 1_000 && !body.includes('{'))
      await expectRefused({ method: 'GET', path: `/${inUrl(body)}` }, reason)
  })

  test.each([
    ...['dialect=prql', 'implicit_select=1', 'readonly=0', 'max_memory_usage=0', 'max_threads=64', 'role=owner'],
    ...['profile=default', 'session_id=mine', 'allow_ddl=1', 'param=1', 'external_structure=a', 'stacktrace=1'],
    ...['name_structure=x+String', 'name_format=CSV', 'close_session=1', 'http_method=GET', 'format_schema=x'],
    ...['workload=x', 'DATABASE=system', `format_template_resultset=${FILE}`],
  ])('refuses the setting %s in the URL', async (setting) => {
    await expectRefused({ body: 'SELECT 1', path: `/?${setting}` }, /rule settings: \w+ is not a setting of the list/)
  })

  test('an answer is sent as it comes: kept whole, one of any size would fill the disk', async () => {
    const body = "SELECT toUInt8(if(number = 3000000, 'x', '1')) FROM numbers(4000000)"
    // Rows were sent before the error, so the connection ends.
    await expect(send({ body, path: '/?wait_end_of_query=1&buffer_size=100000000' })).rejects.toThrow('aborted')
  })

  test('a tool may lower the time of a statement, and not raise it', async () => {
    expect(await send({ body: 'SELECT 1', path: '/?max_execution_time=30' })).toBe('200 1')
    for (const seconds of ['0', '61'])
      await expectRefused({ body: 'SELECT 1', path: `/?max_execution_time=${seconds}` }, /SETTING_CONSTRAINT_VIOLATION/)
  })

  test.each<[string, Asked, RegExp]>([
    ['another database', { path: '/?database=system' }, /rule tables: the database is candlepool/],
    ['one more database', { path: '/?database=candlepool&database=system' }, /rule tables: the database is/],
    ['another database in a header', { headers: { 'x-clickhouse-database': 'system' } }, /rule tables: the database/],
    ['another format', { path: '/?default_format=Template' }, /rule formats: Template/],
    ['another format in a header', { headers: { 'x-clickhouse-format': 'Protobuf' } }, /rule formats: Protobuf/],
    ['a compressed body', { headers: { 'content-encoding': 'gzip' }, body: gzipSync('SELECT 1') }, /rule requests/],
    ['an unnamed compression', { body: gzipSync(`SELECT ${CALL}`) }, /rule requests: the statement is plain text/],
    ["ClickHouse's compression", { path: '/?decompress=1' }, /rule requests: the statement is plain text/],
    ['UTF-16', { body: Buffer.from(`\ufeffSELECT ${CALL}`, 'utf16le') }, /rule requests|SYNTAX_ERROR/],
    [
      'another encoding',
      { body: Buffer.from(`SELECT 'ä', ${CALL}`, 'latin1') },
      /rule requests: the statement is plain/,
    ],
    ['a statement after a byte order mark', { body: `\ufeffSELECT ${CALL}` }, /rule functions: file/],
    ['a statement after a zero byte', { body: `SELECT 1\0, ${CALL}` }, /rule functions: file|SYNTAX_ERROR/],
    ['statements in URL and body', { path: `/${inUrl('SELECT 1')}`, body: `, ${CALL}` }, /rule requests: .* once/],
    ['two statements in the URL', { path: `/${inUrl('SELECT 1')}&query=SELECT+2`, body: '' }, /rule requests: .* once/],
    ['a form', { headers: { 'content-type': 'multipart/form-data; boundary=x' }, body: '--x--' }, /rule requests/],
    ['a long statement', { body: `SELECT 1 -- ${'x'.repeat(70_000)}` }, /^413 .*rule requests: .* 64 kB/],
    ['another method', { method: 'PUT' }, /^405 .*rule requests: the method is GET or POST/],
    ['a page', { path: '/play' }, /^404 .*rule requests: the port has no handler \/play/],
    ['another handler', { path: '/replicas_status' }, /^404 .*rule requests/],
    ['a path with a host', { path: '//metrics' }, /rule requests/],
    ['another address', { path: 'http://127.0.0.1:1/metrics' }, /^400 .*rule requests: the URL is not valid/],
  ])('refuses %s', async (_, asked, reason) => {
    await expectRefused({ body: 'SELECT 1', ...asked }, reason)
  })

  test.each([
    ['no password', { headers: { authorization: '' } }],
    ['the user default', { headers: { authorization: '' }, path: '/?user=default' }],
    [
      'another user in headers',
      { headers: { authorization: '', 'x-clickhouse-user': 'owner', 'x-clickhouse-key': '' } },
    ],
  ])('refuses %s', async (_, asked) => {
    await expectRefused({ body: 'SELECT 1', ...asked }, /^401 Code: 516\./)
  })

  test('runs statements as analyst, also where the URL or a header of a tool names another user beside the password', async () => {
    const headers = { 'x-clickhouse-user': 'owner', 'x-clickhouse-key': '' }
    for (const path of ['/?user=owner&password=', '/?user=views'])
      expect(await send({ path, headers, body: 'SELECT currentUser()' })).toBe('200 analyst')
  })

  test('takes the second of two requests in one segment for a statement of its own', async () => {
    const asked = (body: string, more = '') =>
      `POST / HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic()}\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`
    const answers = async (requests: string) => {
      const socket = connect(port.port, '127.0.0.1')
      socket.write(requests)
      return text(socket)
    }
    const two = await answers(asked('SELECT 41 + 1') + asked(`SELECT ${CALL}`))
    expect(two).toMatch(/^HTTP\/1.1 200 .*\b42\n.*HTTP\/1.1 403 .*rule functions: file/s)
    // Two lengths are two readings of where the next request begins.
    const hidden = await answers(asked(`0\r\n\r\n${asked(`SELECT ${CALL}`)}`, 'Transfer-Encoding: chunked\r\n'))
    expect(hidden).toMatch(/^HTTP\/1.1 400 /)
    expect(two + hidden).not.toContain(SECRET)
  })

  test('the user of the statements has no right but to the views, and the user of the parses none', async () => {
    const grants = await ask<{ user_name: string; access_type: string; table: string }>(
      store.owner,
      "SELECT user_name, access_type, table FROM system.grants WHERE user_name IN ('analyst', 'parser') ORDER BY table",
    )
    expect(grants).toEqual(
      ['market_candles', 'market_pools', 'market_ticks'].map((table) => ({
        user_name: 'analyst',
        access_type: 'SELECT',
        table,
      })),
    )
    // A restored database has new views.
    const definers = await ask<{ name: string }>(
      store.owner,
      "SELECT name FROM system.tables WHERE create_table_query LIKE '%DEFINER = views SQL SECURITY DEFINER%'",
    )
    expect(definers).toHaveLength(3)
  })

  test('all statements together have a quarter of the memory, one thread each and two turns', async () => {
    const settings = await ask<{ name: string; value: string }>(
      store.analyst,
      `SELECT name, value FROM system.settings WHERE name IN ('max_threads', 'max_memory_usage', 'readonly', 'implicit_select',
        'max_memory_usage_for_user', 'max_execution_time', 'max_concurrent_queries_for_user') ORDER BY name`,
    )
    const limit = await ask<{ value: string }>(
      store.owner,
      "SELECT toString(intDiv(toUInt64(value), 4)) AS value FROM system.server_settings WHERE name = 'max_server_memory_usage'",
    )
    const quarter = limit[0]?.value
    expect(Object.fromEntries(settings.map(({ name, value }) => [name, value]))).toEqual({
      implicit_select: '0',
      max_concurrent_queries_for_user: '4',
      max_execution_time: '60',
      max_memory_usage: quarter,
      max_memory_usage_for_user: quarter,
      max_threads: '1',
      readonly: '1',
    })
    const body = 'SELECT count() FROM numbers(20000000000) WHERE sipHash64(number) = 1'
    const four = Array.from({ length: 4 }, () =>
      request({ host: '127.0.0.1', port: port.port, method: 'POST', auth: `analyst:${password}`, agent: false })
        .on('error', () => undefined)
        .end(body),
    )
    const running = async () => {
      const query =
        "SELECT count() AS count, max(length(thread_ids)) AS threads FROM system.processes WHERE user = 'analyst'"
      const [row] = await ask<{ count: string; threads: string }>(store.owner, query)
      return Number(row?.count)
    }
    await expect.poll(running).toBe(2)
    // Inserts and answers are unlimited meanwhile.
    expect(await ask(store.reader, 'SELECT count() AS count FROM ticks')).toEqual([{ count: '0' }])
    expect(await running()).toBe(2)
    for (const asked of four) asked.destroy()
    await expect.poll(running).toBe(0)
    expect(await send({ body: 'SELECT 1' })).toBe('200 1')
  })

  test.skipIf(process.platform !== 'linux')(
    'a statement runs at the lowest priority, and no other thread does',
    async () => {
      const pid = (await readRunning(enginePaths(folder)))?.pid
      /** Threads of the engine whose nice value, the 17th of the fields after the name, is 19. */
      const lowest = async () => {
        const threads = await readdir(`/proc/${pid}/task`)
        const stats = await Promise.all(
          threads.map((it) => readFile(`/proc/${pid}/task/${it}/stat`, 'utf8').catch(() => '')),
        )
        return stats.filter((stat) => stat.split(') ')[1]?.split(' ')[16] === '19').length
      }
      const options = { host: '127.0.0.1', port: port.port, method: 'POST', auth: `analyst:${password}`, agent: false }
      const body = 'SELECT count() FROM numbers(20000000000) WHERE sipHash64(number) = 1'
      const asked = request(options).on('error', () => undefined)
      asked.end(body)
      await expect.poll(lowest).toBeGreaterThan(0)
      expect(await lowest()).toBeLessThanOrEqual(2)
      asked.destroy()
      await expect.poll(lowest).toBe(0)
    },
  )

  test('a statement has a lower priority than the queries of the API', async () => {
    const query = "SELECT value FROM system.settings WHERE name = 'priority'"
    expect(await ask(store.reader, query)).toEqual([{ value: '1' }])
    expect(await ask(store.analyst, query)).toEqual([{ value: '2' }])
    expect(await ask(store.owner, query)).toEqual([{ value: '0' }])
  })

  test('a statement that outgrows the memory ends with an error', async () => {
    const answer = await send({ body: 'SELECT groupArray(number) FROM numbers(3000000000)' })
    expect(answer).toMatch(/Code: 241\..*(User|Query) memory limit exceeded/)
  })

  test('each listed function is one of the engine, and none is of a kind that reads beside its arguments', async () => {
    const functions = await ask<{ name: string; categories: string }>(
      store.owner,
      'SELECT name, categories FROM system.functions',
    )
    const listed = functions.filter(({ name }) => isListedFunction(name))
    expect(listed.length).toBeGreaterThan(600)
    const kinds = /Files|Dictionary|AI|Introspection|Encryption|Machine Learning/
    expect(listed.filter(({ categories }) => kinds.test(categories))).toEqual([])
    const tableFunctions = await ask<{ name: string }>(store.owner, 'SELECT name FROM system.table_functions')
    expect(
      tableFunctions.filter(({ name }) => isListedTableFunction(name)).map(({ name }) => name.toLowerCase()),
    ).toEqual(expect.arrayContaining(['numbers', 'values', 'generate_series', 'generateseries']))
    expect(tableFunctions.filter(({ name }) => isListedFunction(name))).toEqual([])
  })
})
