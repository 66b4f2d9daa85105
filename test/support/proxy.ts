/** A TCP proxy before a real server: the network between, which can be cut, fall silent and come back. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type TcpProxy = {
  port: number
  /** How many connections clients have open. */
  open(): number
  /** How many were ever made. */
  made(): number
  /** Ends all connections, and takes no more until it is told to. */
  goAway(): Promise<void>
  comeBack(): Promise<void>
  /** Data on open connections is dropped silently. */
  fallSilent(): void
  /** Writes to all clients, as if the server had. */
  inject(bytes: Buffer): void
  stop(): Promise<void>
}

export async function startProxy(targetPort: number, targetHost = '127.0.0.1'): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let made = 0
  const server = createServer((socket) => {
    const target = connect(targetPort, targetHost)
    made++
    sockets.add(socket)
    socket
      .on('error', () => undefined)
      .on('close', () => {
        sockets.delete(socket)
        // However a client goes, the server sees an end: the embedded engine aborts where one of a cluster resets its connection to another.
        target.end().resume()
      })
    target.on('error', () => undefined).on('close', () => socket.destroy())
    socket.pipe(target).pipe(socket)
    socket.once('silence', () => {
      socket.unpipe(target)
      target.unpipe(socket)
      socket.resume()
      target.resume()
    })
  })
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const goAway = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
  await listen(0)
  const { port } = server.address() as AddressInfo
  return {
    port,
    open: () => sockets.size,
    made: () => made,
    goAway,
    comeBack: () => listen(port),
    fallSilent() {
      for (const socket of sockets) socket.emit('silence')
    },
    inject(bytes) {
      for (const socket of sockets) socket.write(bytes)
    },
    stop: async () => {
      if (server.listening) await goAway()
    },
  }
}
