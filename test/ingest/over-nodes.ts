/** A listener over several nodes of one network, each of which can be given the faults of real providers. */
import { expect } from 'vitest'
import { connectChain } from '../../infra/rpc/chain-client.ts'
import { listen } from '../../ingest/follow/listener.ts'
import type { StartBlock } from '../../ingest/follow/start-block.ts'
import type { IngestFact } from '../../ingest/model/fact.ts'
import { blocksOf, type Message, tipOf } from '../../ingest/model/message.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import type { RetryPolicy } from '../../ingest/rpc/retry-policy.ts'
import { type ArrayLog, arrayLog } from '../support/array-log.ts'
import { DAY } from '../support/recorded.ts'
import { recordedDayChain } from '../support/recorded-day.ts'
import { type RpcServer, startRpcServer } from '../support/rpc-server.ts'
import { until } from '../support/until.ts'

export const FROM = DAY.lastBlock - 1_200
export const FINALIZED = DAY.lastBlock - 40
const chain = recordedDayChain({ finalized: FINALIZED })
export const FAST_RETRIES: RetryPolicy = {
  coolDownMs: 20,
  maxCoolDownMs: 80,
  rateLimitMs: 20,
  minPerSecond: 1_000,
  capMs: 60_000,
  behindMs: 200,
  compareMs: 50,
  chainIdMs: 60_000,
  finalityLostMs: 60_000,
  random: () => 0.5,
}

export const startNode = (): Promise<RpcServer> => startRpcServer({ ...chain })
export const hostOf = (node: RpcServer): string => new URL(node.url).host

export type Listening = {
  log: ArrayLog
  facts: IngestFact[]
  factsOf<K extends IngestFact['kind']>(kind: K): Extract<IngestFact, { kind: K }>[]
  /** Faults of this node according to its facts. */
  problemsOf(node: RpcServer): (string | undefined)[]
  /** The error that ended the listener. */
  failure(): unknown
  messagesUpTo(block: number): Promise<readonly Message[]>
  stop(): Promise<void>
}

type Options = {
  timeoutMs?: number
  path?: string
  retryPolicy?: Partial<RetryPolicy>
  start?: StartBlock
  pools?: ReadonlySet<PoolId>
}

export function listenTo(
  nodes: readonly RpcServer[],
  { timeoutMs = 10_000, path = '', retryPolicy, start, pools }: Options = {},
): Listening {
  const log = arrayLog()
  const facts: IngestFact[] = []
  const stopping = new AbortController()
  const network = NETWORKS.ethereum
  const shared = { network, report: (fact: IngestFact) => void facts.push(fact), signal: stopping.signal }
  const urls = nodes.map(({ url }) => `${url}${path}`)
  const { endpoints } = connectChain(urls, {
    ...shared,
    headerProof: 'off',
    timeoutMs,
    retryPolicy: { ...FAST_RETRIES, ...retryPolicy },
  })
  let failure: unknown
  const listening = listen(endpoints, {
    ...shared,
    log,
    stored: { tip: async () => undefined, below: async () => [] },
    start: start ?? { kind: 'block', number: FROM },
    pools,
    pollMs: 10,
  }).catch((error: unknown) => {
    failure = error
  })
  const factsOf: Listening['factsOf'] = (kind) =>
    facts.filter((fact): fact is Extract<IngestFact, { kind: typeof kind }> => fact.kind === kind)
  return {
    log,
    facts,
    factsOf,
    problemsOf: (node) =>
      factsOf('rpc-failed').flatMap(({ endpoint, problem }) => (endpoint === hostOf(node) ? [problem] : [])),
    failure: () => failure,
    async messagesUpTo(block) {
      await until(async () => {
        const newest = log.messages.at(-1)
        return failure || (newest && tipOf(newest).number === block) ? true : undefined
      }, `block ${block} is appended`)
      if (failure) throw failure
      return log.messages
    },
    async stop() {
      stopping.abort()
      await listening
    },
  }
}

/** The content of the chain, independent of its ranges, and that it has no gap. */
export function contentOf(messages: readonly Message[]): unknown[] {
  let next = FROM
  for (const message of messages) {
    expect(message.kind === 'range' ? message.from : message.number).toBe(next)
    next = tipOf(message).number + 1
  }
  return messages.flatMap((message): unknown[] => (message.kind === 'range' ? [...blocksOf(message)] : [message]))
}

/** The messages of a listener over one node without faults. */
export async function cleanContent(): Promise<unknown[]> {
  const node = await startNode()
  const listening = listenTo([node])
  const clean = contentOf(await listening.messagesUpTo(DAY.lastBlock))
  await listening.stop()
  await node.stop()
  return clean
}
