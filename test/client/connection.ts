/** A connection as a client might hold it that is slow, rude or broken: bytes in, bytes out, and when it was ended. */
import { connect, type Socket } from 'node:net'

export type Connection = {
  socket: Socket
  send(bytes: string): void
  /** Everything that was answered so far. */
  received(): string
  /** Resolves once what was answered looks like this. */
  until(pattern: RegExp): Promise<string>
  /** Resolves with everything that was answered, once the other side has ended the connection. */
  ended: Promise<string>
}

export async function openConnection(url: string): Promise<Connection> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let received = ''
  socket.setEncoding('latin1').on('data', (part) => {
    received += part
  })
  const ended = new Promise<string>((resolve) => {
    // A reset is an end too.
    socket.on('error', () => undefined).on('close', () => resolve(received))
  })
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  return {
    socket,
    send: (bytes) => void socket.write(bytes),
    received: () => received,
    ended,
    until: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => pattern.test(received) && resolve(received)
        socket.on('data', look)
        look()
        void ended.then(() => reject(new Error(`The connection ended before it had ${pattern}: ${received}`)))
      }),
  }
}
