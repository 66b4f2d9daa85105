/** The floor of an answer from memory: a bare `node:http` server, in a process of its own. Standard input has paths and bodies, standard output the port. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

const bodies = new Map<string, Buffer>()
for (const [path, body] of JSON.parse(await text(process.stdin)) as [string, string][])
  bodies.set(path, Buffer.from(body))
const server = createServer((request, response) => {
  const body = bodies.get(request.url ?? '')
  if (!body) return void response.writeHead(404).end()
  response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': body.byteLength })
  response.end(body)
})
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
