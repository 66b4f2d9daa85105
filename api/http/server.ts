/** Serves the application on a port until the signal aborts: running requests are then answered, new ones refused. */

import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { onAbort } from '../../ingest/lib/wait.ts'
import type { Report } from '../../ingest/model/report.ts'
import type { ApiFact } from '../lib/fact.ts'
import { PROBLEMS, Problem, problemBody } from '../lib/problem.ts'
import { securityHeaderValues } from './http.ts'

export type Serving = {
  host: string
  /** The assigned port where 0 was given. */
  port: number
  /** Resolves after the last answer. */
  closed: Promise<void>
}

/** Time limits of one connection. */
export type ServerTimeouts = {
  /** For the head of a request, which is a few hundred bytes. */
  requestTimeoutMs: number
  /** For an idle socket, such as that of a client that does not read its answer. */
  socketTimeoutMs: number
  /** After the signal, for a client that sends or reads. */
  drainMs: number
  /** After the signal, for the answer to a request that has arrived. */
  answerMs: number
}

const DEFAULT_TIMEOUTS: ServerTimeouts = {
  requestTimeoutMs: 15_000,
  socketTimeoutMs: 120_000,
  drainMs: 10_000,
  answerMs: 10_000,
}

/** Resolves once the port is open; rejects where it cannot be opened. */
export async function serve(
  options: {
    app: RequestListener
    host: string
    port: number
    signal: AbortSignal
    report: Report<ApiFact>
    /** Where another process accepts the connections: resolves after a turn of its loop. */
    turnOfAcceptor?: (() => Promise<void>) | undefined
  } & Partial<ServerTimeouts>,
): Promise<Serving> {
  const {
    app,
    host,
    signal,
    report,
    turnOfAcceptor = nextTurn,
    requestTimeoutMs: slowMs,
    socketTimeoutMs: stuckMs,
    drainMs,
    answerMs,
  } = { ...DEFAULT_TIMEOUTS, ...options }
  const limits = {
    maxHeaderSize: 16_384,
    headersTimeout: slowMs,
    requestTimeout: slowMs,
    // Node's default checks for slow requests every 30 s.
    connectionsCheckingInterval: slowMs / 5,
    // The application answers a missing Host and an unknown Expect with a problem document; Node would send no body.
    requireHostHeader: false,
  }
  const server = createServer(limits, app)
  server.on('checkExpectation', app)
  server.maxHeadersCount = 100
  server.setTimeout(stuckMs)
  // Longer than the idle time of usual proxies, so that the proxy closes first.
  server.keepAliveTimeout = 65_000
  server.on('clientError', refuse)
  await listen(server, options.port, host)
  const { port } = server.address() as AddressInfo
  report({ kind: 'server-listening', host, port })
  const drained = untilClosed(server, { signal, drainMs, answerMs, turnOfAcceptor })
  const closed = drained.then(() => report({ kind: 'server-closed' }))
  return { host, port, closed }
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function untilClosed(
  server: Server,
  {
    signal,
    drainMs,
    answerMs,
    turnOfAcceptor,
  }: Pick<ServerTimeouts, 'drainMs' | 'answerMs'> & { signal: AbortSignal; turnOfAcceptor(): Promise<void> },
): Promise<void> {
  const underWay = new Set<ServerResponse>()
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  let unused = new Set<Socket>()
  /** Node does not count a connection as idle before its first request; clients open some ahead. */
  const closeUnused = () => {
    const before = unused
    unused = new Set([...sockets].filter(({ bytesRead }) => bytesRead === 0))
    // The request on a connection that has just been accepted may be there, and not be read yet.
    for (const socket of unused) if (before.has(socket)) socket.destroy()
  }
  const closeUnasked = () => {
    const asked = new Set([...underWay].filter((response) => !response.writableEnded).map(({ socket }) => socket))
    // Of an unused one, the request may still be there.
    for (const socket of sockets) if (socket.bytesRead > 0 && !asked.has(socket)) socket.destroy()
  }
  server.prependListener('request', (_request, response) => {
    underWay.add(response)
    response.once('close', () => underWay.delete(response))
    if (signal.aborted) isLast(response)
  })
  return new Promise((resolve) => {
    const stop = async () => {
      for (const response of underWay) {
        isLast(response)
        // Streams have no end of their own.
        response.emit('stopping')
      }
      const timers = [
        setTimeout(closeUnasked, drainMs),
        setTimeout(() => server.closeAllConnections(), Math.max(drainMs, answerMs)),
      ]
      await acceptWaiting(server, turnOfAcceptor)
      const idle = setInterval(() => server.closeIdleConnections(), 50)
      // The first request of a client that has just connected may be on its way.
      const unusedTimer = setInterval(closeUnused, UNUSED_MS)
      server.close(() => {
        timers.forEach(clearTimeout)
        clearInterval(idle)
        clearInterval(unusedTimer)
        resolve()
      })
      server.closeIdleConnections()
    }
    onAbort(signal, () => void stop())
  })
}

const UNUSED_MS = 500

/** Twice the backlog of the port: a flood of connections does not keep it open. */
const MAX_TURNS = 1_024

/**
 * libuv accepts one connection a turn of its loop; the others wait in the backlog of the kernel, which resets them when the port is closed.
 * The same turns read the requests that have reached an idle connection. Two turns without a connection: none waits.
 */
async function acceptWaiting(server: Server, turn: () => Promise<void>): Promise<void> {
  let quietTurns = 0
  const accepted = () => {
    quietTurns = 0
  }
  server.on('connection', accepted)
  for (let turns = 0; quietTurns < 2 && turns < MAX_TURNS; turns++) {
    quietTurns += 1
    await turn()
  }
  server.off('connection', accepted)
}

/** Without keep-alive: an open connection would delay the close, and a request on it would get no answer. */
function isLast(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close')
}

/** As raw lines: Node refused the request before a response object existed. */
const SAFE_HEADERS = Object.entries(securityHeaderValues())
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('')

/** Answers requests that Node refuses while it parses them: headers too large, too slow, or not HTTP. */
function refuse(error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const problem = problemOf(error.code)
  const { status, title } = PROBLEMS[problem.code]
  const requestId = crypto.randomUUID()
  const body = JSON.stringify(problemBody(problem, requestId))
  const isHead = error.rawPacket?.subarray(0, 5).toString() === 'HEAD '
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\nContent-Type: application/problem+json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${requestId}\r\n${SAFE_HEADERS}Connection: close\r\n\r\n${isHead ? '' : body}`,
  )
}

function problemOf(code: string | undefined): Problem {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new Problem('headers_too_large', 'The header fields are larger than 16 kB.')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Problem('request_timeout', 'The request took too long to arrive.')
  return new Problem('bad_request', 'This is not a well-formed HTTP request.')
}
