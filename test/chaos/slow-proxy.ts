/** A TCP proxy before a real server that is far away, or busy: everything is late, both ways. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { pipeline, Transform } from 'node:stream'

export type SlowProxy = {
  port: number
  /** From now on; 0 at first. */
  delayMs: number
  stop(): Promise<void>
}

export async function startSlowProxy(targetPort: number): Promise<SlowProxy> {
  const sockets = new Set<Socket>()
  const proxy = { port: 0, delayMs: 0, stop }
  const late = () =>
    new Transform({
      transform(chunk, _, done) {
        setTimeout(() => done(null, chunk), proxy.delayMs)
      },
    })
  const server = createServer((socket) => {
    const target = connect(targetPort, '127.0.0.1')
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    // Whichever side ends the connection ends it for both.
    pipeline(socket, late(), target, () => socket.destroy())
    pipeline(target, late(), socket, () => target.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  proxy.port = (server.address() as AddressInfo).port
  function stop() {
    for (const socket of sockets) socket.destroy()
    return new Promise<void>((resolve) => server.close(() => resolve()))
  }
  return proxy
}
