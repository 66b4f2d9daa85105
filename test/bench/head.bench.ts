/**
 * From the chain's new head to the appended message, 3 swaps a block: with WebSocket heads and with polling once a second, to the
 * in-process log and to Kafka, where every answer takes 0 or 50 ms and a notification none. The floor is a bare client that asks for
 * the logs of each new head that it hears of. HEADS and LATENCIES scale it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, type Hash, webSocket } from 'viem'
import { DIRECT } from '../../infra/config/rpc-access.ts'
import { inProcessLog } from '../../infra/kafka/in-process.ts'
import { kafkaLog } from '../../infra/kafka/kafka.ts'
import { connectChain } from '../../infra/rpc/chain-client.ts'
import { openHttp } from '../../infra/rpc/http-rpc.ts'
import { createAssembler } from '../../ingest/blocks/assemble.ts'
import { listen } from '../../ingest/follow/listener.ts'
import { tipOf } from '../../ingest/model/message.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import type { TickLog } from '../../ingest/model/tick-log.ts'
import { getHead, getLogs } from '../../ingest/rpc/rpc.ts'
import { startKafka } from '../support/kafka.ts'
import { now, startChain } from './chain-node.ts'
import { figure, quantile, title } from './figure.ts'

const HEADS = Number(process.env['HEADS'] ?? 60)
const WARM_UP_HEADS = 10
const LATENCIES = (process.env['LATENCIES'] ?? '0,50').split(',').map(Number)
const POLL_MS = 1_000
const READY_MS = 2 * POLL_MS
const network = NETWORKS.ethereum
const { filter } = createAssembler(connectChain(['http://unused.invalid']).endpoints, network, undefined, () => {})

type Heads = 'WebSocket heads' | 'polling'
/** Follows the chain at `url` until the signal aborts, and tells of each block that it is done with. */
type Follower = (url: string, onBlock: (number: number) => void, signal: AbortSignal) => Promise<unknown>

const kafka = await startKafka()
const logs: Record<string, () => Promise<TickLog & { close(): Promise<void> }>> = {
  'in-process': async () => {
    const log = inProcessLog({ nextOffset: 0 })
    void drain(log)
    return log
  },
}
if (!('unavailable' in kafka)) {
  const { brokers } = kafka
  logs['Kafka'] = () =>
    kafkaLog({ brokers, network: 'ethereum', prefix: `${process.hrtime.bigint()}.`, report: () => {} })
}

for (const heads of ['WebSocket heads', 'polling'] as const) {
  for (const latencyMs of LATENCIES) {
    title(`new head to appended message: ${heads}, ${latencyMs} ms latency`)
    const followers: [string, Follower][] = [['bare client (floor)', heads === 'polling' ? barePolling : bareSocket]]
    for (const [name, open] of Object.entries(logs)) followers.push([`${name} log`, listener(open)])
    const times = await measured(followers, heads, latencyMs)
    const floor = times[0] ?? []
    for (const [index, [name]] of followers.entries()) {
      for (const share of [0.5, 0.95]) {
        const beside = index === 0 ? undefined : quantile(floor, share)
        figure(`${name}, p${share * 100}`, quantile(times[index] ?? [], share), 'ms', beside)
      }
    }
  }
}
if (!('unavailable' in kafka)) await kafka.stop()
process.exit()

/** One after the other, except where nearly all of the time is waiting. */
async function measured(
  followers: readonly [string, Follower][],
  heads: Heads,
  latencyMs: number,
): Promise<number[][]> {
  const measure = ([, follow]: readonly [string, Follower]) => timesOf(follow, heads, latencyMs)
  if (heads === 'polling') return Promise.all(followers.map(measure))
  const times: number[][] = []
  for (const follower of followers) times.push(await measure(follower))
  return times
}

async function timesOf(follow: Follower, heads: Heads, latencyMs: number): Promise<number[]> {
  const node = await startChain({ latencyMs, head: 1_000_000, swapsPerBlock: 3 })
  const stop = new AbortController()
  let done = { number: 0, at: 0 }
  let wake = () => {}
  const url = heads === 'polling' ? node.url : node.url.replace('http', 'ws')
  const onBlock = (number: number) => {
    done = { number, at: now() }
    wake()
  }
  const following = follow(url, onBlock, stop.signal)
  // Until it has caught up it may be told of nothing.
  for (let number = 1; done.number < number; await sleep(READY_MS)) number = (await node.mine()).number
  const times: number[] = []
  while (times.length < WARM_UP_HEADS + HEADS) {
    // At any moment between two polls.
    await sleep(heads === 'polling' ? Math.random() * POLL_MS : 50 + Math.random() * 50)
    const { number, at } = await node.mine()
    while (done.number < number) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    times.push(done.at - at)
  }
  stop.abort()
  await following
  await node.stop()
  return times.slice(WARM_UP_HEADS)
}

function listener(open: () => Promise<TickLog & { close(): Promise<void> }>): Follower {
  return async (url, onBlock, signal) => {
    const log = await open()
    const { endpoints, watchHeads } = connectChain([url], { headerProof: 'off', signal })
    await listen(endpoints, {
      network,
      log: {
        ...log,
        async append(messages) {
          await log.append(messages)
          for (const message of messages) onBlock(tipOf(message).number)
        },
      },
      stored: { tip: async () => undefined, below: async () => [] },
      // All pools have been met by then.
      start: { kind: 'blocks-ago', blocks: 300 },
      watchHeads,
      pollMs: POLL_MS,
      report: () => {},
      signal,
    })
    await log.close()
  }
}

async function bareSocket(url: string, onBlock: (number: number) => void, signal: AbortSignal): Promise<void> {
  const client = createClient({ transport: webSocket(url, { reconnect: false }) })
  await client.transport.subscribe({
    params: ['newHeads'],
    async onData(data) {
      const { number, hash } = (data as unknown as { result: { number: string; hash: Hash } }).result
      await getLogs(client, filter, { blockHash: hash })
      onBlock(Number(number))
    },
  })
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
}

async function barePolling(url: string, onBlock: (number: number) => void, signal: AbortSignal): Promise<void> {
  const client = openHttp({ url, name: 'here', timeoutMs: 10_000, access: DIRECT })
  while (!signal.aborted) {
    const { number, hash } = await getHead(client)
    await getLogs(client, filter, { blockHash: hash })
    onBlock(number)
    await sleep(POLL_MS)
  }
}

async function drain(log: TickLog): Promise<void> {
  for await (const _ of log.read(0, new AbortController().signal));
}
