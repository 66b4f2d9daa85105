/** A real HTTP proxy of a company: it tunnels (CONNECT), forwards absolute addresses, and may ask for a user and a password. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, request as requestHttp } from 'node:http'
import { type AddressInfo, connect } from 'node:net'

export type ForwardProxy = {
  url: string
  /** Each request's target: the host and port of a tunnel, or an address. */
  seen: { target: string; headers: IncomingHttpHeaders }[]
  stop(): void
}

/** Names that end in `.test` are this machine. */
const hostOf = (name: string) => (name.endsWith('.test') ? '127.0.0.1' : name)

export async function startForwardProxy(login?: string): Promise<ForwardProxy> {
  const seen: ForwardProxy['seen'] = []
  const wanted = login && `Basic ${Buffer.from(login).toString('base64')}`
  const isRefused = (headers: IncomingHttpHeaders) => wanted !== undefined && headers['proxy-authorization'] !== wanted
  const server = createServer((request, response) => {
    seen.push({ target: request.url ?? '', headers: request.headers })
    if (isRefused(request.headers)) return void response.writeHead(407).end('login first')
    const { hostname, port, pathname, search } = new URL(request.url ?? '')
    const { 'proxy-authorization': _, ...headers } = request.headers
    const options = { host: hostOf(hostname), port, path: `${pathname}${search}`, method: request.method, headers }
    const sent = requestHttp(options, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    sent.on('error', () => response.writeHead(502).end())
    request.pipe(sent)
  })
  server.on('connect', (request, client) => {
    seen.push({ target: request.url ?? '', headers: request.headers })
    client.on('error', () => undefined)
    if (isRefused(request.headers)) return void client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
    const { hostname, port } = new URL(`http://${request.url}`)
    const upstream = connect(Number(port || 443), hostOf(hostname), () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      client.pipe(upstream).pipe(client)
    })
    upstream.on('error', () => client.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `http://${login ? `${login}@` : ''}${host}`,
    seen,
    stop: () => server.close().closeAllConnections(),
  }
}
