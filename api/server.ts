/** The application on a port, until it is told to stop: then questions under way are answered, and no new ones taken. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Application } from 'express'
import type { Report } from '../ingest/report.ts'
import { PROBLEMS, Problem, problemBody } from './problem.ts'
import type { ApiFact } from './report.ts'

export type Serving = {
  host: string
  /** The one that the system gave, where 0 was asked for. */
  port: number
  /** Resolves when the last answer is out. */
  closed: Promise<void>
}

/** A question is a few hundred bytes: whoever takes longer to ask it holds a connection, and nothing else. */
const SLOW_MS = 15_000
const STUCK_MS = 120_000

/** Resolves once the port is open; rejects where it can't be had. */
export async function serve(options: {
  app: Application
  host: string
  port: number
  signal: AbortSignal
  report: Report<ApiFact>
  /** How long questions under way may still take. */
  drainMs?: number
}): Promise<Serving> {
  const { app, host, signal, report, drainMs = 10_000 } = options
  // The application speaks of missing hosts and of unknown expectations in its own words; Node would send no body.
  const limits = { maxHeaderSize: 16_384, headersTimeout: SLOW_MS, requestTimeout: SLOW_MS, requireHostHeader: false }
  const server = createServer(limits, app)
  server.on('checkExpectation', app)
  server.maxHeadersCount = 100
  // An answer that nobody takes.
  server.setTimeout(STUCK_MS)
  // Longer than the idle time of usual proxies, so that it is they who close.
  server.keepAliveTimeout = 65_000
  server.on('clientError', refuse)
  await listen(server, options.port, host)
  const { port } = server.address() as AddressInfo
  report({ kind: 'server-listening', host, port })
  return { host, port, closed: untilClosed(server, signal, drainMs).then(() => report({ kind: 'server-closed' })) }
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

function untilClosed(server: Server, signal: AbortSignal, drainMs: number): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      // A connection that stays open after its answer would hold the server.
      server.prependListener('request', (_request, response) => response.setHeader('Connection', 'close'))
      const timer = setTimeout(() => server.closeAllConnections(), drainMs)
      const sweep = setInterval(() => server.closeIdleConnections(), 50)
      server.close(() => {
        clearTimeout(timer)
        clearInterval(sweep)
        resolve()
      })
      server.closeIdleConnections()
    }
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

/** What Node refuses before there is a request: headers that are too large, or that are not HTTP. */
function refuse(error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const problem =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new Problem('headers_too_large', 'The header fields are larger than 16 kB.')
      : new Problem('bad_request', 'This is not a well-formed HTTP request.')
  const { status, title } = PROBLEMS[problem.code]
  const requestId = crypto.randomUUID()
  const body = JSON.stringify(problemBody(problem, requestId))
  const isHead = error.rawPacket?.subarray(0, 5).toString() === 'HEAD '
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\nContent-Type: application/problem+json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${requestId}\r\nConnection: close\r\n\r\n${isHead ? '' : body}`,
  )
}
