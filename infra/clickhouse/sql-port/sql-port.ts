/**
 * SQL_PORT: ClickHouse's HTTP interface to the embedded tables, for the tools of analysts. It reads the views of the market, and nothing else.
 *
 * The engine demands no right for the scalar function `file()`, which reads every file that the engine's process may open. So each statement is parsed
 * by the engine first, as a user without rights, and runs only where the rules pass its parse: see sql-rules.ts. Behind them, Landlock keeps other
 * files from that process: see `allowanceOf`.
 */

import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { type ConcurrencyLimit, limitConcurrency } from '../../../api/lib/concurrency-limit.ts'
import { onAbort } from '../../../ingest/lib/wait.ts'
import type { EngineAccess } from '../engine/engine-access.ts'
import { ANALYST_LIMITS, type EngineUser } from '../engine/engine-users.ts'
import { SqlPortError, sqlPortErrorOf, TOO_MANY, UNANSWERED, UNAUTHENTICATED } from './sql-error.ts'
import { readSqlRequest, type SqlRequest } from './sql-request.ts'
import { breachOfKind, breachOfTree, isListedStatement } from './sql-rules.ts'

export type SqlPort = {
  host: string
  port: number
  /** Resolves when the last connection is closed. */
  closed: Promise<void>
}

export type SqlPortOptions = {
  engine: EngineAccess
  host: string
  port: number
  signal: AbortSignal
}

export const SQL_USER = 'analyst'

const SLOW_MS = 15_000
/** The engine ends a statement before that. */
const MAX_RUN_MS = 1_000 * ANALYST_LIMITS.max_execution_time + 5_000
const TURNS = { maxRunning: 2, maxQueued: 100, refusal: () => TOO_MANY }

/** Serves until the signal aborts. Rejects where the port can't be had. */
export async function startSqlPort({ engine, host, port, signal }: SqlPortOptions): Promise<SqlPort> {
  const backend = { engine, functions: await functionsOf(engine), takeTurn: limitConcurrency(TURNS) }
  const limits = { headersTimeout: SLOW_MS, requestTimeout: SLOW_MS, maxHeaderSize: 16_384 }
  const server = createServer(limits, (incoming, response) => {
    answer(incoming, response, backend).catch((error: unknown) => {
      if (response.headersSent) response.destroy()
      else refuse(response, error)
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, resolve)
  })
  const closed = new Promise<void>((resolve) => server.once('close', resolve))
  const stop = () => {
    server.close()
    server.closeAllConnections()
  }
  onAbort(signal, stop)
  return { host, port: (server.address() as AddressInfo).port, closed }
}

type SqlBackend = { engine: EngineAccess; functions: ReadonlySet<string>; takeTurn: ConcurrencyLimit }

async function answer(incoming: IncomingMessage, response: ServerResponse, backend: SqlBackend): Promise<void> {
  const { engine, takeTurn } = backend
  const path = `http://localhost${incoming.url}`
  if (!incoming.url?.startsWith('/') || !URL.canParse(path))
    throw sqlPortErrorOf({ rule: 'requests', reason: 'the URL is not valid.' }, 400)
  const url = new URL(path)
  // As ClickHouse has it: drivers ask it before they have a password.
  if (url.pathname === '/ping') return void response.end('Ok.\n')
  if (!isAnalyst(incoming, url.searchParams, engine.sqlPassword)) throw UNAUTHENTICATED
  const asked = await readSqlRequest(incoming, url, engine.database)
  if (asked.statement === '') return void response.end('Ok.\n')
  await takeTurn(async () => {
    const statement = await check(asked, backend)
    if (!response.destroyed) await run({ ...asked, statement }, response, engine)
  })
}

/** By `Authorization`, by ClickHouse's own headers, or in the URL, as drivers do it. */
function isAnalyst({ headers }: IncomingMessage, parameters: URLSearchParams, password: string): boolean {
  const [scheme, encoded = ''] = (headers.authorization ?? '').split(' ')
  const basic = scheme?.toLowerCase() === 'basic' ? Buffer.from(encoded, 'base64').toString() : undefined
  const own = `${headers['x-clickhouse-user']}:${headers['x-clickhouse-key']}`
  const named = `${parameters.get('user')}:${parameters.get('password')}`
  return [basic, own, named].some((it) => it !== undefined && isSame(it, `${SQL_USER}:${password}`))
}

function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(one), digest(other))
}

/** The statement to run; rejects where it may not. Neither statement of the check runs a part of it. */
async function check({ statement, parameters }: SqlRequest, { engine, functions }: SqlBackend): Promise<string> {
  const { database } = engine
  // Refuses several statements, and statements that `EXPLAIN AST` would read in another way, such as `optimize = 1 SELECT 1`.
  const formatted = await parse(
    engine,
    `SELECT formatQuerySingleLine(unhex('${Buffer.from(statement).toString('hex')}'))`,
  )
  // As the engine spells it: the list is of whole texts.
  if (isListedStatement(formatted.trimEnd(), database)) return formatted.trimEnd()
  const values = [...parameters].filter(([name]) => name.startsWith('param_'))
  const breach =
    breachOfKind(formatted) ??
    breachOfTree(await parse(engine, `EXPLAIN AST ${statement}`, values), { database, functions })
  if (breach) throw sqlPortErrorOf(breach)
  return statement
}

async function functionsOf(engine: EngineAccess): Promise<ReadonlySet<string>> {
  return new Set((await parse(engine, 'SELECT lower(name) FROM system.functions')).split('\n'))
}

/** The text of the answer; rejects with the error of the engine. */
async function parse(engine: EngineAccess, statement: string, values: [string, string][] = []): Promise<string> {
  const parameters = new URLSearchParams(values)
  const answered = await send(engine, 'parser', { statement, parameters, headers: { 'x-clickhouse-format': 'TSVRaw' } })
  const content = await text(answered)
  if (answered.statusCode === 200) return content
  // The error of `formatQuerySingleLine` ends with the statement of the check.
  const message = content.replace(/: In scope SELECT formatQuery.*(?= \([A-Z_]+\))/s, '').trimEnd()
  throw new SqlPortError(answered.statusCode ?? 500, Number(answered.headers['x-clickhouse-exception-code']), message)
}

async function run(asked: SqlRequest, response: ServerResponse, engine: EngineAccess): Promise<void> {
  const left = new AbortController()
  // ClickHouse cancels a query whose connection is closed.
  response.once('close', () => left.abort())
  // Also where the engine has answered, and the client does not read.
  const signal = AbortSignal.any([left.signal, AbortSignal.timeout(MAX_RUN_MS)])
  const answered = await send(engine, SQL_USER, asked, signal)
  const { connection: _, 'keep-alive': __, ...passed } = answered.headers
  response.writeHead(answered.statusCode ?? 500, passed)
  await pipeline(answered, response, { signal })
}

function send(
  engine: EngineAccess,
  user: EngineUser,
  { statement, parameters, headers }: SqlRequest,
  signal?: AbortSignal,
): Promise<IncomingMessage> {
  const { username, password } = engine.users[user]
  const target = new URL(engine.url)
  target.search = parameters.toString()
  const options = { method: 'POST', auth: `${username}:${password}`, headers, ...(signal && { signal }) }
  return new Promise((resolve, reject) => {
    const asked = request(target, options, resolve)
    asked.once('error', reject)
    asked.end(statement)
  })
}

function refuse(response: ServerResponse, error: unknown): void {
  const { status, code, message } = error instanceof SqlPortError ? error : UNANSWERED
  response.writeHead(status, {
    'Content-Type': 'text/plain; charset=UTF-8',
    'X-ClickHouse-Exception-Code': code,
    ...(status === 401 && { 'WWW-Authenticate': 'Basic realm="Candlepool SQL"' }),
    Connection: 'close',
  })
  response.end(`${message}\n`)
}
