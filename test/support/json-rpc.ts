/** JSON-RPC over HTTP for the servers of tests: calls, outcomes, batches, and a server of texts. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Call = { id: number; method: string; params: readonly unknown[] }
export type Refusal = { error: { code: number; message: string } }
export type Outcome = { result: unknown } | Refusal

export const refusal = (code: number, message: string): Refusal => ({ error: { code, message } })

/** The text that answers a request, which is one call or a batch. */
export function answerTo(body: string, outcomeOf: (call: Call) => Outcome): string {
  const calls = JSON.parse(body) as Call | Call[]
  const answer = (call: Call) => ({ jsonrpc: '2.0', id: call.id, ...outcomeOf(call) })
  return JSON.stringify(Array.isArray(calls) ? calls.map(answer) : answer(calls))
}

export type TextServer = { url: string; server: Server; stop(): Promise<void> }

/** `respond` is called with the whole body of each request. */
export async function serveTexts(
  respond: (body: string, response: ServerResponse, request: IncomingMessage) => void,
  host = '127.0.0.1',
): Promise<TextServer> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => respond(Buffer.concat(chunks).toString(), response, request))
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    server,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export function sendJson(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(text)
}
