/** Ports of this machine for servers that have to be told theirs. */
import { createServer } from 'node:net'

/**
 * Below what any system gives to connections and to servers that ask for port 0: such a port could be taken by another process between this answer and
 * the start of the server it is for. Chosen at random, since suites run beside each other.
 */
const LOWEST = 10_000
const HIGHEST = 32_000

/** All held open until all are known, so that they differ. */
export async function freePorts(count: number): Promise<number[]> {
  const held: { port: number; release(): Promise<void> }[] = []
  while (held.length < count) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST))
    const release = await holdPort(port)
    if (release) held.push({ port, release })
  }
  await Promise.all(held.map(({ release }) => release()))
  return held.map(({ port }) => port)
}

/** On all addresses, as a broker listens; undefined where another server has the port on one of them. */
async function holdPort(port: number): Promise<(() => Promise<void>) | undefined> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error),
    )
    server.listen(port, () => resolve(() => new Promise((closed) => server.close(() => closed()))))
  })
}
