import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { type ServerTimeouts, serve } from '../../../api/http/server.ts'

async function started(timeouts: Partial<ServerTimeouts> = {}) {
  const stopping = new AbortController()
  const serving = await serve({
    app: (_request, response) => response.end('answered'),
    host: '127.0.0.1',
    port: 0,
    signal: stopping.signal,
    report: () => undefined,
    turnOfAcceptor: async () => undefined,
    ...timeouts,
  })
  return { ...serving, stop: () => stopping.abort() }
}

async function opened(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

/** Once it has come, all connections that were opened before have been accepted. */
const answerOf = async (port: number) => (await fetch(`http://127.0.0.1:${port}`)).text()

describe('a server that stops', () => {
  test.each([{}, { drainMs: 10 }])('answers a first request that reaches it as it stops, %o', async (timeouts) => {
    const { port, closed, stop } = await started(timeouts)
    const socket = await opened(port)
    await answerOf(port)
    stop()
    socket.write('GET / HTTP/1.1\r\n\r\n')
    // A busy machine: nothing is read for longer than the time between two looks for unused connections.
    await new Promise<void>((resolve) => process.nextTick(resolve))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700)
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 .*answered/s)
    await closed
  })

  test('does not wait for a connection without a request', async () => {
    const { port, closed, stop } = await started()
    const socket = await opened(port)
    await answerOf(port)
    stop()
    expect(await text(socket)).toBe('')
    await closed
  })
})
