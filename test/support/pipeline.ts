/** The pipeline in one process: a real node, a listener, an aggregator, and real tables between test and chain. */
import { aggregate } from '../../aggregator/aggregate.ts'
import type { AggregatorFact } from '../../aggregator/ledger/fact.ts'
import { positionAfterStored } from '../../aggregator/ledger/resume.ts'
import { storedChain } from '../../aggregator/ledger/stored-blocks.ts'
import { storedPools } from '../../aggregator/store/stored-pools.ts'
import { storedTokens } from '../../aggregator/store/stored-tokens.ts'
import { inProcessLog } from '../../infra/kafka/in-process.ts'
import { connectChain } from '../../infra/rpc/chain-client.ts'
import { listen } from '../../ingest/follow/listener.ts'
import type { StartBlock } from '../../ingest/follow/start-block.ts'
import type { IngestFact } from '../../ingest/model/fact.ts'
import type { BlockRef, RangeOverwrite } from '../../ingest/model/message.ts'
import type { Network } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import type { TickLog } from '../../ingest/model/tick-log.ts'
import type { Endpoints, HeaderProofMode } from '../../ingest/rpc/endpoints/endpoints.ts'
import type { RetryPolicy } from '../../ingest/rpc/retry-policy.ts'
import type { TestDatabase } from './clickhouse.ts'
import { until } from './until.ts'

export type Pipeline = {
  facts: (IngestFact | AggregatorFact)[]
  endpoints: Endpoints
  /** Where jobs state what they have read. */
  history: TickLog<RangeOverwrite>
  /** Resolves once the ledger's tip is this block. */
  untilStored(block: BlockRef): Promise<void>
  stop(): Promise<void>
}

export type PipelineOptions = {
  network: Network
  /** One address, or several in the order of preference. */
  url: string | readonly string[]
  database: TestDatabase
  pools?: ReadonlySet<PoolId> | undefined
  firstBlock?: number
  /** In place of `firstBlock`. */
  start?: StartBlock
  /** `off` for a chain whose headers are made up. */
  headerProof?: HeaderProofMode
  retryPolicy?: Partial<RetryPolicy>
}

/** Reads the chain from its first block on, or from where the tables end. */
export async function openPipeline({
  network,
  url,
  database,
  pools,
  firstBlock = 0,
  start = { kind: 'block', number: firstBlock },
  headerProof,
  retryPolicy = {},
}: PipelineOptions): Promise<Pipeline> {
  const facts: Pipeline['facts'] = []
  const stopping = new AbortController()
  const shared = { report: (fact: IngestFact | AggregatorFact) => facts.push(fact), signal: stopping.signal }
  const store = database.client
  const stored = storedChain(store, network.name)
  const position = await positionAfterStored(store, network.name)
  const log = inProcessLog({ nextOffset: position.offset })
  const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
  const { endpoints, watchHeads } = connectChain([url].flat(), { network, headerProof, retryPolicy, ...shared })
  const stages = [
    aggregate(store, { network: network.name, log, history, position, ...shared }),
    listen(endpoints, {
      network,
      log,
      stored,
      storedPools: storedPools(store, network.name),
      storedTokens: storedTokens(store, network.name),
      start,
      pools,
      watchHeads,
      pollMs: 100,
      ...shared,
    }),
  ]
  const ended = Promise.all(stages)
  ended.catch(() => undefined)
  return {
    facts,
    endpoints,
    history,
    async untilStored({ number, hash }) {
      const look = async () => ((await stored.tip())?.hash === hash ? true : undefined)
      await Promise.race([
        until(look, `block ${number} is stored`),
        ended.then(() => Promise.reject(new Error('The pipeline has ended.'))),
      ])
    },
    async stop() {
      stopping.abort()
      await Promise.all([log.close(), history.close()])
      await ended
    },
  }
}
