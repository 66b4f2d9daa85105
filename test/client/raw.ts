/** Bytes on a socket, for requests that no client would send. */
import { connect } from 'node:net'

/**
 * Resolves with the first answer; rejects where the connection ends without one. `isEnded`: the client says that nothing follows, upon which Node
 * closes the connection, whether the answer to a good request is there or not.
 */
export function sendRaw(url: string, request: string | Uint8Array, isEnded = true): Promise<Response> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = []
    const socket = connect(Number(port), hostname, () => (isEnded ? socket.end(request) : socket.write(request)))
    socket.on('data', (part) => {
      parts.push(part)
      if (!isEnded) socket.end()
    })
    const finish = (error?: Error) => {
      const answer = Buffer.concat(parts).toString()
      if (answer === '') reject(error ?? new Error('The connection ended without an answer.'))
      else resolve(parseAnswer(answer))
    }
    socket.on('close', () => finish())
    socket.on('error', finish)
  })
}

function parseAnswer(all: string): Response {
  const answer = all.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '')
  const end = answer.indexOf('\r\n\r\n')
  const [first = '', ...lines] = answer.slice(0, end).split('\r\n')
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon), line.slice(colon + 1).trim()]
  })
  const status = Number(first.split(' ')[1])
  // More answers may follow, where what came after the request was taken for a second one.
  const length = Number(headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1] ?? Infinity)
  const body = Buffer.from(answer.slice(end + 4))
    .subarray(0, length)
    .toString()
  return new Response(body === '' ? null : body, { status, headers })
}
