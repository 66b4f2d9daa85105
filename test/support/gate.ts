/** An HTTP proxy before ClickHouse that can hold requests: statements that are on their way while their process sleeps. */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Gate = {
  url: string
  /** From the next statement that matches on, none is let through; resolves once that one is held. */
  shut(at: RegExp): Promise<void>
  /** Lets go what is held, and what comes. */
  open(): void
  stop(): void
}

export async function startGate(target: string): Promise<Gate> {
  let shutAt: RegExp | undefined
  let isShut = false
  let onHeld = () => {}
  let release = () => {}
  let opened: Promise<void> = Promise.resolve()

  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const { query = '' } = Object.fromEntries(new URL(incoming.url ?? '', target).searchParams)
    if (shutAt?.test(query || body.toString())) {
      shutAt = undefined
      isShut = true
      onHeld()
    }
    if (isShut) await opened
    const { host: _, ...headers } = incoming.headers
    const forwarded = request(new URL(incoming.url ?? '', target), { method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(outgoing)
    })
    forwarded.on('error', () => outgoing.destroy())
    forwarded.end(body)
  }

  const server = createServer((incoming, outgoing) => {
    pass(incoming, outgoing).catch(() => outgoing.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    shut(at) {
      opened = new Promise((resolve) => {
        release = resolve
      })
      shutAt = at
      return new Promise((resolve) => {
        onHeld = resolve
      })
    },
    open() {
      isShut = false
      release()
    },
    stop() {
      release()
      server.closeAllConnections()
      server.close()
    },
  }
}
