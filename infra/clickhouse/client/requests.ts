/**
 * Sends the requests of a ClickHouse client at once. The client itself waits for a timer before each, 1 to 2 ms, so that timers of idle sockets
 * run first; here a socket that was idle for too long is closed when a request is made. The client still writes requests and reads answers.
 */
import { type ClientRequest, Agent as HttpAgent, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { Socket } from 'node:net'
import { pipeline, type Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type ClickHouseClient, ClickHouseError, createClient, parseError } from '@clickhouse/client'
import { decoded } from '../../lib/decoded.ts'

/** Well below the ten seconds after which the server closes an idle socket, so that no request meets a closing one. */
const IDLE_MS = 2_500

type ClickHouseClientOptions = NonNullable<Parameters<typeof createClient>[0]> & {
  url: string
  max_open_connections: number
  passwordFrom?: string
}

/** A client with these options whose requests are sent at once. */
export function openClient({ passwordFrom, ...options }: ClickHouseClientOptions): ClickHouseClient {
  const agent = openAgent(options.url, options.max_open_connections)
  const client = createClient({ ...options, ...placeOf(options.url), http_agent: agent })
  sendAtOnce(client, agent, (error) => named(error, passwordFrom))
  return client
}

/** The client reads the path of an address as the name of a database: a reverse proxy has a path of its own. */
function placeOf(address: string): { url: URL; pathname?: string } {
  const url = new URL(address)
  const { pathname } = url
  if (pathname === '/') return { url }
  url.pathname = '/'
  return { url, pathname }
}

function openAgent(url: string, maxSockets: number): HttpAgent {
  const kept = { keepAlive: true, maxSockets, timeout: IDLE_MS }
  return new URL(url).protocol === 'https:' ? new HttpsAgent(kept) : new HttpAgent(kept)
}

/** The part of the client that is replaced. It is private: the version of the client is pinned, and a test sees that this part is still in use. */
type Internals = {
  connection: {
    createClientRequest(parameters: SentParameters): ClientRequest
    socketPool: { request(parameters: SentParameters): Promise<Answer> }
  }
}

/** `body`: undefined for a request without one. */
type SentParameters = { body?: string | Readable }
type Answer = { stream: Readable; response_headers: IncomingMessage['headers']; http_status_code: number | undefined }

function sendAtOnce(client: ClickHouseClient, agent: HttpAgent, explained: (error: Error) => Error): void {
  const { connection } = client as unknown as Internals
  const idleSince = new WeakMap<Socket, number>()
  connection.socketPool.request = async (parameters) => {
    closeStale(agent, idleSince)
    const request = connection.createClientRequest(parameters)
    request.once('close', () => request.socket && idleSince.set(request.socket, performance.now()))
    const response = await responseTo(request, parameters.body)
    const stream = decoded(response)
    if (isRefusal(response)) throw explained(parseError(await text(stream)))
    return { stream, response_headers: response.headers, http_status_code: response.statusCode }
  }
}

/** A server that refuses a user or a password does not say where it was configured. */
function named(error: Error, passwordFrom: string | undefined): Error {
  if (passwordFrom !== undefined && error instanceof ClickHouseError && error.code === AUTHENTICATION_FAILED)
    error.message = `ClickHouse refuses the user or the password of ${passwordFrom}: ${error.message}`
  return error
}

const AUTHENTICATION_FAILED = '516'

/** The timers of the agent are late where the process was paused, or its event loop busy. */
function closeStale(agent: HttpAgent, idleSince: WeakMap<Socket, number>): void {
  const oldest = performance.now() - IDLE_MS
  for (const sockets of Object.values(agent.freeSockets))
    for (const socket of sockets ?? []) if ((idleSince.get(socket) ?? oldest) < oldest) socket.destroy()
}

function responseTo(request: ClientRequest, body: SentParameters['body']): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    // Later errors are those of the answer's stream.
    request.on('error', reject)
    request.once('response', resolve)
    request.once('timeout', () => request.destroy(new Error('Timeout error.')))
    if (typeof body === 'object') pipeline(body, request, (error) => error && reject(error))
    else request.end(body)
  })
}

/** Errors of the statement have a status of 4xx or 5xx, or the header where the status was sent before them. */
function isRefusal({ statusCode = 0, headers }: IncomingMessage): boolean {
  return statusCode < 200 || statusCode >= 300 || headers['x-clickhouse-exception-code'] !== undefined
}
