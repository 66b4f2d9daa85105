/**
 * Sends requests as fast as its connections can, in a process of its own, apart from the API and from the measurement. Standard input has a `Load`; one line of
 * standard output has a `Loaded`. Every connection has questions of its own, so that none waits for another one's answer.
 */
import { text } from 'node:stream/consumers'
import autocannon from 'autocannon'
import { quantile } from './figure.ts'

export type Load = {
  url: string
  seconds: number
  connections: number
  questions: readonly { path: string; key: string }[]
  /** The header Accept-Encoding; none where absent. */
  encoding?: string | undefined
}

export type Loaded = {
  perSecond: number
  /** In ms. */
  p50: number
  p95: number
  p99: number
  /** Number of answers by status. */
  statuses: Record<number, number>
  /** Connections that failed, and answers that never came. */
  errors: number
}

const { url, seconds, connections, questions, encoding }: Load = JSON.parse(await text(process.stdin))
const requests = questions.map(({ path, key }) => ({
  path,
  headers: { 'x-api-key': key, ...(encoding !== undefined && { 'accept-encoding': encoding }) },
}))
const share = Math.ceil(requests.length / connections)
const times: number[] = []
const statuses: Record<number, number> = {}
let clients = 0

const loaded = await new Promise<Loaded>((resolve, reject) => {
  const instance = autocannon(
    {
      url,
      connections,
      duration: seconds,
      timeout: 30,
      setupClient(client) {
        const first = (clients++ * share) % requests.length
        client.setRequests(requests.slice(first, first + share))
      },
    },
    (error, { errors, duration }) => {
      if (error) return reject(error)
      const perSecond = times.length / duration
      const of = (part: number) => quantile(times, part)
      resolve({ perSecond, p50: of(0.5), p95: of(0.95), p99: of(0.99), statuses, errors })
    },
  )
  instance.on('response', (_client, status, _bytes, milliseconds) => {
    times.push(milliseconds)
    statuses[status] = (statuses[status] ?? 0) + 1
  })
})
console.log(JSON.stringify(loaded))
process.exit()
