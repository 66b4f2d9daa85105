/** The endpoints of one network: each unit of work runs at one of them, and at the next where that one fails. */
import { setMaxListeners } from 'node:events'
import type { Client } from 'viem'
import { ChainReplaced } from '../../model/errors.ts'
import type { IngestFact } from '../../model/fact.ts'
import type { Network } from '../../model/network.ts'
import type { Report } from '../../model/report.ts'
import { HeaderProof } from '../../proof/header-proof.ts'
import type { LimitsContext, RangeKind } from '../endpoint-limits.ts'
import { type Finality, finalityOf } from '../finality.ts'
import { BLOCK_MS, RETRY_POLICY, type RetryPolicy } from '../retry-policy.ts'
import { type BadAnswer, classify, isOfWidth, isRpcError, mayBeHeavy, RpcFailed } from '../rpc-error.ts'
import { type VoicedClient, voiceOf } from '../voice.ts'
import { agreementOf, askVoices, headerAt, type VoiceAnswer } from './agreement.ts'
import { type ChainCheck, chainCheckOf } from './chain-check.ts'
import { Endpoint } from './endpoint.ts'
import { chooseEndpoint, markLate, type RunOptions } from './endpoint-choice.ts'
import { behindFact, type ReportEndpoint, recordAnswer, recordFailure, recordFork } from './endpoint-outcome.ts'
import { type CompareHeads, compareHeads } from './head-comparison.ts'
import type { RequestBudget } from './request-budget.ts'

export type Endpoints = {
  /**
   * Runs `task` against one endpoint, with all of its requests. Where it fails in a way that another endpoint may not, the next one is
   * used. Throws `RpcFailed` where all failed, and rethrows errors of `task` that are not about an endpoint.
   */
  run<T>(task: (client: Client) => Promise<T>, options?: RunOptions): Promise<T>
  /** The widest range of blocks that a usable endpoint is not known to refuse. */
  maxBlocks(kind?: RangeKind): number
  /** Records that this endpoint fails at ranges so wide, though it answers other requests. */
  narrow(endpoint: string, blocks: number, kind?: RangeKind): void
  /** Milliseconds until an endpoint of another voice than these is usable; 0 where there is none. */
  waitForOther(...clients: readonly Client[]): number
  /** The number of voices that may answer. */
  voices(): number
  /** Runs `task` once at each voice that answers now, in the order of configuration. Failures are recorded and left out. */
  askVoices<T>(task: (client: Client) => Promise<T>): Promise<VoiceAnswer<T>[]>
  /** Finality as the endpoints report it. */
  finality: Finality
  /** Records a failure of this client that another endpoint has proven. */
  penalize(client: Client, error: BadAnswer): void
}

export type HeaderProofMode = 'required' | 'off'

export type EndpointsOptions = {
  /** Network whose chain id every endpoint must have. */
  network?: Network
  report?: Report<IngestFact>
  signal?: AbortSignal
  retryPolicy?: Partial<RetryPolicy>
  /** Budget of the network in this process. */
  budget?: RequestBudget | undefined
  /** `off` for development nodes whose headers do not hash to their hashes. */
  headerProof?: HeaderProofMode | undefined
}

/** `clients` in order of preference; a client's `name`, its host, appears in facts. One without a `voice` has its own. Clients must not retry. */
export function endpointsOf(clients: readonly VoicedClient[], options: EndpointsOptions = {}): Endpoints {
  const { network, budget, signal = new AbortController().signal } = options
  const retryPolicy = { ...RETRY_POLICY, ...options.retryPolicy }
  // Every waiting request adds a listener.
  setMaxListeners(0, signal)
  const report: ReportEndpoint = (fact) => {
    if (network) options.report?.({ network: network.name, ...fact })
  }
  const lateMs = retryPolicy.lateMs ?? (network ? BLOCK_MS[network.name] : Number.POSITIVE_INFINITY)
  const onHead = () => {
    for (const { name, headDelay } of markLate(endpoints, lateMs))
      report({ kind: 'endpoint-late', endpoint: name, ms: Math.round(headDelay.medianMs ?? 0) })
  }
  const headers = options.headerProof === 'off' ? undefined : new HeaderProof(network?.provenFrom)
  const endpoints: readonly Endpoint[] = clients.map((client, index) => {
    const endpoint = client.name
    const onCalled = (method: string, ms: number) => report({ kind: 'rpc-called', endpoint, method, ms })
    const onOddity: LimitsContext['onOddity'] = (oddity, detail) =>
      report({ kind: 'endpoint-oddity', endpoint, oddity, detail })
    const context = { policy: retryPolicy, budget, signal, onCalled, onOddity, onHead, headers }
    return new Endpoint(endpoint, client.voice ?? `${endpoint} of place ${index}`, client, context)
  })
  const chainCheck = chainCheckOf(endpoints, network, report, retryPolicy.chainIdMs)
  const ask = <T>(task: (client: Client) => Promise<T>) => askVoices(endpoints, chainCheck.verify, report, task)
  const isSeveral = new Set(endpoints.map((it) => it.voice)).size > 1
  const expected = () => endpoints.filter((it) => it.isExpected(DOWN_FAILURES)).map(({ voice }) => voice)
  const agreeAt = agreementOf(expected, (number) => ask((client) => headerAt(client, number)), report)
  const finality = finalityOf(network, retryPolicy, headers !== undefined, isSeveral ? agreeAt : undefined)
  const group: EndpointGroup = {
    endpoints,
    report,
    signal,
    ...chainCheck,
    compare: compareHeads(retryPolicy.compareMs, finality, agreeAt),
  }
  return {
    finality,
    run: (task, run = {}) => runInGroup(group, task, run),
    maxBlocks(kind) {
      const enabled = endpoints.filter((it) => !it.disabled)
      const usable = enabled.filter((it) => it.waitMs() === 0)
      return Math.max(...(usable.length > 0 ? usable : enabled).map((it) => it.limits.maxBlocks(kind)))
    },
    narrow(name, blocks, kind) {
      endpoints.find((it) => it.name === name)?.limits.narrow(blocks, kind)
    },
    waitForOther(...clients) {
      const others = endpoints.filter((it) => !it.disabled && !isOfVoices(it, clients))
      return others.length === 0 ? 0 : Math.min(...others.map((it) => it.waitMs()))
    },
    askVoices: ask,
    voices: () => new Set(endpoints.flatMap((it) => (it.disabled ? [] : [it.voice]))).size,
    penalize(client, error) {
      const endpoint = endpoints.find((it) => it.has(client))
      if (!endpoint) return
      recordFailure(report, endpoint, {
        epoch: endpoint.breaker.begin(),
        error,
        problem: error.problem,
        run: {},
        isAlone: isAlone(endpoints),
      })
    },
  }
}

function isOfVoices({ voice }: Endpoint, clients: readonly Client[] = []): boolean {
  return clients.some((client) => voice === voiceOf(client))
}

/** `endpoints` for backfills and audits: live following is served first, and keeps a reserve of the day's budget. */
export function withHistoryPriority(endpoints: Endpoints): Endpoints {
  return { ...endpoints, run: (task, options) => endpoints.run(task, { ...options, priority: 'history' }) }
}

/** `endpoints` for searches of few logs in wide ranges, whose width is learnt apart. */
export function asSearch(endpoints: Endpoints): Endpoints {
  return {
    ...endpoints,
    run: (task, options) => endpoints.run(task, { ...options, ranges: 'search' }),
    maxBlocks: () => endpoints.maxBlocks('search'),
    narrow: (endpoint, blocks) => endpoints.narrow(endpoint, blocks, 'search'),
  }
}

/** Failures in a row, over more than half a minute, after which an endpoint counts as down. */
const DOWN_FAILURES = 7

type EndpointGroup = ChainCheck & {
  endpoints: readonly Endpoint[]
  report: ReportEndpoint
  signal: AbortSignal
  compare: CompareHeads
}

async function runInGroup<T>(group: EndpointGroup, task: (client: Client) => Promise<T>, run: RunOptions): Promise<T> {
  const { endpoints, report, signal } = group
  const attempts = Math.max(3, 2 * endpoints.length)
  const left = new Set(endpoints.filter((it) => !isOfVoices(it, run.notAt)))
  const replaced = new Set<Endpoint>()
  const failures = new Map<Endpoint, RpcFailed>()
  let failure: Error | undefined
  group.throwIfWrongChain()
  for (let attempt = 0; attempt < attempts; attempt++) {
    const endpoint = await chooseEndpoint(endpoints, left, run, signal)
    signal.throwIfAborted()
    if (!endpoint) break
    const epoch = endpoint.breaker.begin()
    try {
      await group.verify(endpoint)
      if (endpoint.disabled) continue
      const answer = await task(run.priority === 'history' ? endpoint.historyClient : endpoint.client)
      recordAnswer(report, endpoint, epoch)
      if (run.blocks !== undefined) endpoint.limits.answered(run.blocks, run.ranges)
      comparePeers(group)
      return answer
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof ChainReplaced) {
        recordAnswer(report, endpoint, epoch)
        left.delete(endpoint)
        replaced.add(endpoint)
        report({ kind: 'rpc-erred', endpoint: endpoint.name, problem: 'contradictory' })
        // A single endpoint may be on a fork.
        if (endpoints.every((it) => it.disabled || replaced.has(it) || isDown(it))) throw error
        failure = recordFork(report, endpoint, error)
        continue
      }
      const problem = isRpcError(error) ? classify(error) : undefined
      if (!problem || problem.kind === 'reverted') {
        recordAnswer(report, endpoint, epoch)
        throw problem ? new RpcFailed(endpoint.name, problem, error) : error
      }
      const failed = new RpcFailed(endpoint.name, problem, error)
      if (recordFailure(report, endpoint, { epoch, error: failed, problem, run, isAlone: isAlone(endpoints) }))
        left.delete(endpoint)
      const isRepeated = failures.has(endpoint) && mayBeHeavy(failed)
      failures.set(endpoint, failed)
      failed.isWidthRefused = [...failures.values()].some(isOfWidth)
      failure = prunedEverywhere(endpoints, failures, run.oldest) ?? failed
      // A narrower range is faster than another endpoint, which most likely answers the same.
      if ((run.blocks ?? 1) > 1 && (problem.kind === 'too-many-results' || isRepeated)) throw failed
      // Behind one address, other nodes may have more history.
      if ([...left].every((it) => it.disabled))
        for (const [it, { problem }] of failures) if (problem.kind === 'pruned') left.add(it)
    }
  }
  throw failure ?? new Error(run.notAt ? 'No other endpoint can be asked.' : 'There is no RPC endpoint to ask.')
}

function isAlone(endpoints: readonly Endpoint[]): boolean {
  return endpoints.filter((it) => !it.disabled).length < 2
}

/** The failure that says that no endpoint has the blocks. One that rests may have been found without them before, and one on another branch is behind. */
function prunedEverywhere(
  endpoints: readonly Endpoint[],
  failures: ReadonlyMap<Endpoint, RpcFailed>,
  oldest: number | undefined,
): RpcFailed | undefined {
  const pruned = [...failures.values()].find(({ problem }) => problem.kind === 'pruned')
  const lacksIt = (it: Endpoint) => {
    const own = failures.get(it)?.problem.kind
    const isKnown = own === undefined && oldest !== undefined && it.limits.lacks(oldest)
    return it.disabled || own === 'pruned' || own === 'behind' || isKnown || isDown(it) || isUnsound(it)
  }
  if (!pruned || !endpoints.every(lacksIt)) return undefined
  pruned.isEverywhere = true
  pruned.mayPass = endpoints.some(
    (it) => isUnsound(it) || (!it.disabled && !isDown(it) && failures.get(it)?.problem.kind !== 'pruned'),
  )
  return pruned
}

/** It has not answered for a while, and says nothing about the chain. */
function isDown({ breaker }: Endpoint): boolean {
  return breaker.failures >= DOWN_FAILURES
}

/** So many answers were ill-formed that the next ones may be, too. */
function isUnsound({ breaker }: Endpoint): boolean {
  return breaker.faults >= DOWN_FAILURES
}

/** In the background; at most once in `compareMs`. */
function comparePeers({ endpoints, compare, verify, report }: EndpointGroup): void {
  const usable = endpoints.filter((it) => !it.disabled && it.waitMs() === 0)
  if (usable.length < 2) return
  void compare(usable, verify, (endpoint, best) => report(behindFact(endpoint, best)))
}
