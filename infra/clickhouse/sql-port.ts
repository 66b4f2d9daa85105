/**
 * SQL_PORT: ClickHouse's HTTP interface to the embedded tables, for the tools of analysts. It reads, and nothing else.
 *
 * The engine demands no right for the scalar function `file()`, which reads every file of this account, keys and passwords too. So each
 * statement is checked before it runs. The engine formats it first, which leaves one spelling of each name.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'
import { ask } from '../../aggregator/store/store.ts'
import type { EngineAccess } from './engine-access.ts'

export type SqlPort = {
  host: string
  port: number
  /** Resolves when the last connection is closed. */
  closed: Promise<void>
}

export type SqlPortOptions = {
  engine: EngineAccess
  /** Connected as `analyst`. */
  analyst: ClickHouseClient
  host: string
  port: number
  signal: AbortSignal
}

export const SQL_USER = 'analyst'

const MAX_STATEMENT_BYTES = 65_536
const SLOW_MS = 15_000
/** The URL has these of the client; credentials are replaced, and what is read into memory elsewhere is left out. */
const DROPPED_PARAMETERS = ['query', 'user', 'password', 'quota_key', 'decompress']
const PASSED_HEADERS = ['accept-encoding', 'x-clickhouse-format', 'x-clickhouse-database', 'user-agent']

/** Serves until the signal aborts. Rejects where the port can't be had. */
export async function startSqlPort({ engine, analyst, host, port, signal }: SqlPortOptions): Promise<SqlPort> {
  const limits = { headersTimeout: SLOW_MS, requestTimeout: SLOW_MS, maxHeaderSize: 16_384 }
  const server = createServer(limits, (incoming, response) => {
    answer(incoming, response, { engine, analyst }).catch((error: unknown) => {
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
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
  return { host, port: (server.address() as AddressInfo).port, closed }
}

type SqlBackend = Pick<SqlPortOptions, 'engine' | 'analyst'>

async function answer(
  incoming: IncomingMessage,
  response: ServerResponse,
  { engine, analyst }: SqlBackend,
): Promise<void> {
  const path = incoming.url ?? '/'
  if (!URL.canParse(path, 'http://localhost')) throw new SqlPortError(400, 36, 'The URL of the request is not valid.')
  const url = new URL(path, 'http://localhost')
  // As ClickHouse has it: drivers ask it before they have a password.
  if (url.pathname === '/ping') return void response.end('Ok.\n')
  if (!isAnalyst(incoming, url.searchParams, engine.sqlPassword)) {
    throw new SqlPortError(
      401,
      516,
      'Authentication failed: the password of analyst is incorrect.',
      'AUTHENTICATION_FAILED',
    )
  }
  const statement = await statementOf(incoming, url.searchParams)
  if (statement.trim() === '') return void response.end('Ok.\n')
  await refuseFiles(analyst, statement)
  await forward(incoming, response, { url, statement, engine })
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

async function statementOf(incoming: IncomingMessage, parameters: URLSearchParams): Promise<string> {
  const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = incoming.headers
  if (encoding !== 'identity' || parameters.get('decompress') === '1' || type.startsWith('multipart/'))
    throw new SqlPortError(400, 36, 'The statement has to be plain text: switch off the compression of requests.')
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_STATEMENT_BYTES) throw new SqlPortError(413, 62, 'The statement is longer than 64 kB.')
    chunks.push(chunk)
  }
  const body = Buffer.concat(chunks).toString()
  const query = parameters.get('query') ?? ''
  if (query !== '' && body.trim() !== '')
    throw new SqlPortError(400, 36, 'The statement stands in the URL or in the body, not in both.')
  return query === '' ? body : query
}

async function refuseFiles(analyst: ClickHouseClient, statement: string): Promise<void> {
  const query = 'SELECT formatQuerySingleLine({statement:String}) AS text'
  const [formatted] = await ask<{ text: string }>(analyst, query, { statement })
  if (!formatted || namesFile(formatted.text))
    throw new SqlPortError(
      403,
      497,
      'Nothing may be called file: the function of that name reads files.',
      'ACCESS_DENIED',
    )
}

/** Outside of texts. A name that is quoted is written with escapes where it has to be, so that `file` has this spelling alone. */
export function namesFile(formatted: string): boolean {
  return /\bfile\b/i.test(formatted.replace(/'(?:[^'\\]|\\.|'')*'/gs, "''"))
}

function forward(
  incoming: IncomingMessage,
  response: ServerResponse,
  { url, statement, engine }: { url: URL; statement: string; engine: EngineAccess },
): Promise<void> {
  const { username, password } = engine.users.analyst
  const target = new URL(engine.url)
  for (const [name, value] of url.searchParams)
    if (!DROPPED_PARAMETERS.includes(name)) target.searchParams.append(name, value)
  if (!target.searchParams.has('database') && !incoming.headers['x-clickhouse-database'])
    target.searchParams.set('database', engine.database)
  const headers = Object.fromEntries(
    PASSED_HEADERS.flatMap((name) => (incoming.headers[name] === undefined ? [] : [[name, incoming.headers[name]]])),
  )
  return new Promise((resolve, reject) => {
    const asked = request(target, { method: 'POST', auth: `${username}:${password}`, headers }, (answered) => {
      const { connection: _, 'keep-alive': __, ...passed } = answered.headers
      response.writeHead(answered.statusCode ?? 500, passed)
      pipeline(answered, response).then(resolve, reject)
    })
    asked.once('error', reject)
    // ClickHouse cancels a query whose connection is closed.
    response.once('close', () => asked.destroy())
    asked.end(statement)
  })
}

/** In the form of ClickHouse's own errors, so that a driver reads it as one. */
class SqlPortError extends Error {
  readonly status: number
  readonly code: number

  constructor(status: number, code: number, message: string, name = 'BAD_ARGUMENTS') {
    super(`Code: ${code}. DB::Exception: ${message} (${name})`)
    this.status = status
    this.code = code
  }
}

function refuse(response: ServerResponse, error: unknown): void {
  const refusal = sqlPortErrorOf(error)
  response.writeHead(refusal.status, {
    'Content-Type': 'text/plain; charset=UTF-8',
    'X-ClickHouse-Exception-Code': refusal.code,
    ...(refusal.status === 401 && { 'WWW-Authenticate': 'Basic realm="Candlepool SQL"' }),
    Connection: 'close',
  })
  response.end(`${refusal.message}\n`)
}

function sqlPortErrorOf(error: unknown): SqlPortError {
  if (error instanceof SqlPortError) return error
  // A syntax error of the engine.
  if (error instanceof ClickHouseError)
    return new SqlPortError(400, Number(error.code), error.message, error.type ?? '')
  return new SqlPortError(503, 210, 'ClickHouse does not answer.', 'NETWORK_ERROR')
}
