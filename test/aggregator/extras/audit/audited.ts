/** A recorded stretch told by two nodes, whose indexes of logs may be broken, and a process that listens to them and audits. */
import { numberToHex } from 'viem'
import { aggregate } from '../../../../aggregator/aggregate.ts'
import { type AuditStep, createAudit } from '../../../../aggregator/extras/audit/audit.ts'
import type { AggregatorFact } from '../../../../aggregator/ledger/fact.ts'
import { positionAfterStored } from '../../../../aggregator/ledger/resume.ts'
import { storedChain } from '../../../../aggregator/ledger/stored-blocks.ts'
import { storedPools } from '../../../../aggregator/store/stored-pools.ts'
import { inProcessLog } from '../../../../infra/kafka/in-process.ts'
import { connectChain } from '../../../../infra/rpc/chain-client.ts'
import { V3_TOPICS } from '../../../../ingest/decode/decode-v3.ts'
import { listen } from '../../../../ingest/follow/listener.ts'
import type { IngestFact } from '../../../../ingest/model/fact.ts'
import type { Message, RangeOverwrite } from '../../../../ingest/model/message.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import type { PoolId } from '../../../../ingest/model/pool.ts'
import type { TickLog } from '../../../../ingest/model/tick-log.ts'
import type { Endpoints } from '../../../../ingest/rpc/endpoints/endpoints.ts'
import type { RpcLog } from '../../../../ingest/rpc/rpc.ts'
import type { TestDatabase } from '../../../support/clickhouse.ts'
import { DAY, madeUpHash } from '../../../support/recorded.ts'
import { recordedDayChain } from '../../../support/recorded-day.ts'
import { type RecordedChain, type RpcServer, startRpcServer } from '../../../support/rpc-server.ts'
import { until } from '../../../support/until.ts'

const { ethereum } = NETWORKS

export const FIRST = DAY.firstBlock
/** Final, with blocks above it that are not. */
export const FINALIZED = FIRST + 500
export const HEAD = FINALIZED + 20
/** Where the chain ends. */
export const LAST = FINALIZED + 60

/** A pool of an unlisted token against WETH: the recorded pool prices its swaps. */
/** A token that is not on the curated list. */
export const DOG = '0x00000000000000000000000000000000000000d0'
export const DOG_POOL: PoolId = '0x00000000000000000000000000000000000d06d0'

/** Swaps and mints of the recorded pool, and in each second block a swap that it prices. */
export function auditedChain(): RecordedChain {
  const day = recordedDayChain({ finalized: FINALIZED })
  const recorded = day.logs.filter((log) => Number(log.blockNumber) <= LAST)
  const swap = recorded.find(({ topics }) => topics[0] === V3_TOPICS.swap)
  if (!swap) throw new Error('The recording begins with a swap.')
  const hashes = new Map(recorded.map((log) => [Number(log.blockNumber), log.blockHash]))
  const dogs = Array.from({ length: (LAST - FIRST) / 2 }, (_, index): RpcLog => {
    const block = FIRST + 2 * index
    return {
      ...swap,
      address: DOG_POOL,
      blockNumber: numberToHex(block),
      blockHash: hashes.get(block) ?? madeUpHash(block),
      blockTimestamp: numberToHex(day.timestampOf(block)),
      transactionHash: madeUpHash(block, 7),
      logIndex: numberToHex(900),
    }
  })
  return {
    ...day,
    head: HEAD,
    logs: [...recorded, ...dogs],
    contracts: {
      ...day.contracts,
      [DOG_POOL]: {
        kind: 'v3-pool',
        factory: ethereum.v3.factory,
        token0: DOG,
        token1: ethereum.wrappedNative,
        fee: 3000,
      },
      [DOG]: { kind: 'token', symbol: 'DOG', name: 'Dog', decimals: 18 },
    },
  }
}

export type Nodes = { one: RpcServer; two: RpcServer; reset(): void; stop(): Promise<void> }

export async function startNodes(chainId = ethereum.chainId): Promise<Nodes> {
  const chain = { ...auditedChain(), chainId }
  const [one, two] = await Promise.all([startRpcServer({ ...chain }), startRpcServer({ ...chain })])
  return {
    one,
    two,
    reset() {
      for (const { chain: its, calls, faults } of [one, two]) {
        its.head = HEAD
        its.finalized = FINALIZED
        its.contracts = chain.contracts
        for (const method of Object.keys(calls)) delete calls[method]
        for (const name of Object.keys(faults))
          if (!Array.isArray(faults[name as 'hideLogs'])) delete faults[name as 'hideLogs']
        delete faults.inventLogs
        delete faults.lacksMethods
      }
    },
    stop: () => Promise.all([one.stop(), two.stop()]).then(() => {}),
  }
}

export type Listening = {
  facts: (IngestFact | AggregatorFact)[]
  endpoints: Endpoints
  history: TickLog<RangeOverwrite>
  /** Another audit, as of a process that has just started. */
  audit(history?: TickLog<RangeOverwrite>, pools?: readonly PoolId[], everyMs?: number, againMs?: number): AuditStep
  untilStored(block: number): Promise<void>
  stop(): Promise<void>
}

/** Reads the first node's chain, from the second one where the first fails. */
export async function startListening(
  { client }: TestDatabase,
  nodes: readonly RpcServer[],
  { from = FIRST, pools, coolDownMs = 20 }: { from?: number; pools?: readonly PoolId[]; coolDownMs?: number } = {},
): Promise<Listening> {
  const facts: Listening['facts'] = []
  const stopping = new AbortController()
  const shared = { report: (fact: IngestFact | AggregatorFact) => facts.push(fact), signal: stopping.signal }
  const position = await positionAfterStored(client, 'ethereum')
  const log = inProcessLog<Message>({ nextOffset: position.offset })
  const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
  const retryPolicy = { coolDownMs, maxCoolDownMs: Math.max(50, coolDownMs) }
  const { endpoints } = connectChain(
    nodes.map(({ url }) => url),
    { network: ethereum, headerProof: 'off', retryPolicy, ...shared },
  )
  const stored = storedChain(client, 'ethereum')
  const stages = [
    aggregate(client, { network: 'ethereum', log, history, position, ...shared }),
    listen(endpoints, {
      network: ethereum,
      log,
      stored,
      storedPools: storedPools(client, 'ethereum'),
      start: { kind: 'block', number: from },
      pools: pools && new Set(pools),
      pollMs: 20,
      ...shared,
    }),
  ]
  for (const stage of stages) stage.catch(() => undefined)
  return {
    facts,
    endpoints,
    history,
    audit: (through = history, audited = pools, everyMs = 0, againMs = 0) =>
      createAudit(client, endpoints, {
        network: ethereum,
        pools: audited,
        history: through,
        againMs,
        everyMs,
        ...shared,
      }),
    async untilStored(block) {
      await until(async () => ((await stored.tip())?.number === block ? true : undefined), `block ${block} is stored`)
    },
    async stop() {
      stopping.abort()
      await Promise.all([log.close(), history.close()])
      await Promise.allSettled(stages)
    },
  }
}
