/** A request to SQL_PORT: its statement as text, and the parts of its URL and headers that reach the engine. All else is refused by name or left out. */
import type { IncomingMessage } from 'node:http'
import { ANALYST_SETTINGS } from '../engine/engine-users.ts'
import { type SqlPortError, sqlPortErrorOf } from './sql-error.ts'
import { breachOfFormat } from './sql-rules.ts'

export type SqlRequest = {
  /** Trimmed, without semicolons at its end; empty where a client asks whether the port answers. */
  statement: string
  /** For the engine: its URL and headers. */
  parameters: URLSearchParams
  headers: Record<string, string>
}

const MAX_STATEMENT_BYTES = 65_536

/** Read by the port itself, of no effect on a statement that reads, or, as the last two, for an answer that the engine keeps whole, of any size. */
const LEFT_OUT = [
  ...['query', 'user', 'password', 'quota_key', 'async_insert'],
  ...['wait_end_of_query', 'buffer_size'],
]
/** How the answer is sent, beside the settings that a user may change. */
const PASSED = [
  ...['database', 'default_format', 'query_id', 'compress'],
  ...['client_protocol_version', 'max_execution_time', ...ANALYST_SETTINGS],
]
const PASSED_HEADERS = ['accept-encoding', 'user-agent']

/** Rejects with `SqlPortError`. `database`: the only one of the port. */
export async function readSqlRequest(incoming: IncomingMessage, url: URL, database: string): Promise<SqlRequest> {
  const { headers, method = '' } = incoming
  if (url.pathname !== '/') throw refused(404, `the port has no handler ${url.pathname.slice(0, 64)}.`)
  if (!['GET', 'POST'].includes(method)) throw refused(405, 'the method is GET or POST.')
  const parameters = new URLSearchParams()
  for (const [name, value] of url.searchParams) {
    if (LEFT_OUT.includes(name) || (name === 'decompress' && value === '0')) continue
    if (name === 'decompress') throw refused(400, COMPRESSED)
    if (!PASSED.includes(name) && !/^param_\w+$/.test(name))
      throw sqlPortErrorOf({ rule: 'settings', reason: `${name.slice(0, 64)} is not a setting of the list.` })
    parameters.append(name, value)
  }
  const named = [...parameters.getAll('database'), headers['x-clickhouse-database'] ?? database]
  if (named.some((it) => it !== database))
    throw sqlPortErrorOf({ rule: 'tables', reason: `the database is ${database}.` })
  parameters.set('database', database)
  const format = headers['x-clickhouse-format']
  for (const it of [...parameters.getAll('default_format'), ...(format === undefined ? [] : [String(format)])]) {
    const breach = breachOfFormat(it)
    if (breach) throw sqlPortErrorOf(breach)
  }
  const passed = [...PASSED_HEADERS, 'x-clickhouse-format'].flatMap((name) => {
    const value = headers[name]
    return value === undefined ? [] : [[name, String(value)]]
  })
  return {
    statement: await readStatement(incoming, url.searchParams.getAll('query')),
    parameters,
    headers: Object.fromEntries(passed),
  }
}

const COMPRESSED = 'the statement is plain text in UTF-8: switch off the compression of requests.'

async function readStatement(incoming: IncomingMessage, inUrl: readonly string[]): Promise<string> {
  const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = incoming.headers
  if (encoding !== 'identity' || type.startsWith('multipart/')) throw refused(400, COMPRESSED)
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_STATEMENT_BYTES) throw refused(413, 'the statement has at most 64 kB.')
    chunks.push(chunk)
  }
  const given = [...inUrl, textOf(Buffer.concat(chunks))].map(trimmed).filter((it) => it !== '')
  if (given.length > 1) throw refused(400, 'the statement is in the URL or in the body, once.')
  return given[0] ?? ''
}

function textOf(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    throw refused(400, COMPRESSED)
  }
}

function trimmed(statement: string): string {
  return statement.trim().replace(/[;\s]+$/, '')
}

function refused(status: number, reason: string): SqlPortError {
  return sqlPortErrorOf({ rule: 'requests', reason }, status)
}
