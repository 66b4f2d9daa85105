/** The endpoints of one network: each unit of work runs at one of them, and at the next where that one fails. */
import { setMaxListeners } from 'node:events'
import type { Client } from 'viem'
import { getChainId } from 'viem/actions'
import { pause } from '../lib/wait.ts'
import { ChainReplaced, WrongChain } from '../model/errors.ts'
import type { IngestFact } from '../model/fact.ts'
import type { Network } from '../model/network.ts'
import type { Report } from '../model/report.ts'
import type { RpcProblem } from '../model/rpc-problem.ts'
import { Endpoint } from './endpoint.ts'
import { Finality } from './finality.ts'
import { compareHeads } from './head-comparison.ts'
import { RETRY_POLICY, type RetryPolicy } from './retry-policy.ts'
import { type BadAnswer, classify, isRpcError, RpcFailed } from './rpc-error.ts'

export type Endpoints = {
  /**
   * Runs `task` against one endpoint, with all of its requests. Where it fails in a way that another endpoint may not, the next one is
   * used. Throws `RpcFailed` where all failed, and rethrows errors of `task` that are not about an endpoint.
   */
  run<T>(task: (client: Client) => Promise<T>, options?: RunOptions): Promise<T>
  /** The widest range of blocks that a usable endpoint is not known to refuse. */
  maxBlocks(): number
  /** Milliseconds until another endpoint than this one is usable; 0 where there is no other. */
  waitForOther(client: Client): number
  /** Finality as the endpoints report it. */
  finality: Finality
  /** Records a failure of this client that another endpoint has proven. */
  penalize(client: Client, error: BadAnswer): void
}

export type RunOptions = {
  /** Endpoints known to be below this block come last. */
  atLeast?: number | undefined
  /** Width of the requested range: endpoints known to refuse it come last. */
  blocks?: number
  /** This client comes last. */
  notFirst?: Client
}

export type EndpointsOptions = {
  /** Network whose chain id every endpoint must have. */
  network?: Network
  report?: Report<IngestFact>
  signal?: AbortSignal
  retryPolicy?: Partial<RetryPolicy>
}

/** `clients` in order of preference; a client's `name`, its host, appears in facts. Clients must not retry. */
export function endpointsOf(clients: readonly Client[], options: EndpointsOptions = {}): Endpoints {
  const { network, signal = new AbortController().signal } = options
  const retryPolicy = { ...RETRY_POLICY, ...options.retryPolicy }
  // Every waiting request adds a listener.
  setMaxListeners(0, signal)
  const endpoints = clients.map((client) => {
    const endpoint = client.name
    const onCalled = (method: string, ms: number) => report({ kind: 'rpc-called', endpoint, method, ms })
    return new Endpoint(endpoint, client, retryPolicy, signal, onCalled)
  })
  const attempts = Math.max(3, 2 * endpoints.length)
  const finality = new Finality()
  const compare = compareHeads(retryPolicy.compareMs, finality)
  let wrongChain: WrongChain | undefined

  function report(fact: EndpointFact): void {
    if (network) options.report?.({ network: network.name, ...fact })
  }

  /** Checks the chain id once; an endpoint of another network is disabled. */
  async function verify(endpoint: Endpoint): Promise<void> {
    if (endpoint.verified || !network) return
    const chainId = await getChainId(endpoint.client)
    endpoint.verified = chainId === network.chainId
    if (endpoint.verified || endpoint.disabled) return
    endpoint.disabled = true
    report({ kind: 'endpoint-disabled', endpoint: endpoint.name, chainId, expected: network.chainId })
    if (endpoints.every((it) => it.disabled)) wrongChain = new WrongChain(network, chainId)
    if (wrongChain) throw wrongChain
  }

  /** The best of the remaining endpoints; where all rest, waits for the first to become usable. */
  async function next(left: ReadonlySet<Endpoint>, run: RunOptions): Promise<Endpoint | undefined> {
    while (!signal.aborted) {
      const candidates = [...left].filter((it) => !it.disabled).sort((a, b) => compareRanks(rank(a, run), rank(b, run)))
      const [best] = candidates
      if (!best || best.waitMs() === 0) return best
      // Another endpoint answered and only lacks the block: it may have it before these are usable.
      if (left.size < endpoints.length && endpoints.some((it) => !left.has(it) && !it.disabled)) return undefined
      await pause(Math.min(...candidates.map((it) => it.waitMs())), signal)
    }
    return undefined
  }

  /** Any answer closes the circuit breaker. */
  function recordAnswer(endpoint: Endpoint, epoch: number): void {
    const failures = endpoint.breaker.succeeded(epoch)
    if (failures > 0) report({ kind: 'endpoint-recovered', endpoint: endpoint.name, failures })
  }

  /** Records a failure. True where a repeated request to this endpoint cannot help. */
  function recordFailure(
    endpoint: Endpoint,
    epoch: number,
    error: unknown,
    problem: RpcProblem,
    run: RunOptions,
  ): boolean {
    const { name } = endpoint
    report({ kind: 'rpc-erred', endpoint: name, problem: problem.kind })
    const fact = { kind: 'rpc-failed', endpoint: name, problem: problem.kind, error } as const
    switch (problem.kind) {
      case 'too-many-results':
        recordAnswer(endpoint, epoch)
        return true
      case 'range-capped':
        recordAnswer(endpoint, epoch)
        endpoint.capRange(problem.maxBlocks, run.blocks ?? Number.POSITIVE_INFINITY)
        return true
      case 'behind':
        recordAnswer(endpoint, epoch)
        if (endpoint.setBehind(true)) report(behindFact(endpoint, run.atLeast))
        return true
      case 'unsupported':
        recordAnswer(endpoint, epoch)
        report({ ...fact, retryMs: 0 })
        return true
      case 'rate-limited':
        recordAnswer(endpoint, epoch)
        report({ ...fact, retryMs: endpoint.limiter.waitMs() })
        return false
      default: {
        const ms = endpoint.breaker.failed(epoch)
        if (ms === undefined) return false
        report({ ...fact, retryMs: ms })
        const { failures } = endpoint.breaker
        report({ kind: 'endpoint-cooling', endpoint: name, problem: problem.kind, ms, failures })
        return false
      }
    }
  }

  function lookAtPeers(): void {
    const usable = endpoints.filter((it) => !it.disabled && it.waitMs() === 0)
    if (usable.length < 2) return
    void compare(usable, verify, (endpoint, best) => report(behindFact(endpoint, best)))
  }

  return {
    finality,
    async run(task, options = {}) {
      const left = new Set(endpoints)
      const replaced = new Set<Endpoint>()
      let failure: Error | undefined
      if (wrongChain) throw wrongChain
      for (let attempt = 0; attempt < attempts; attempt++) {
        const endpoint = await next(left, options)
        signal.throwIfAborted()
        if (!endpoint) break
        const epoch = endpoint.breaker.begin()
        try {
          await verify(endpoint)
          if (endpoint.disabled) continue
          const answer = await task(endpoint.client)
          recordAnswer(endpoint, epoch)
          lookAtPeers()
          return answer
        } catch (error) {
          signal.throwIfAborted()
          if (error instanceof ChainReplaced) {
            // A single endpoint may be on a fork.
            recordAnswer(endpoint, epoch)
            left.delete(endpoint)
            replaced.add(endpoint)
            report({ kind: 'rpc-erred', endpoint: endpoint.name, problem: 'contradictory' })
            if (endpoints.every((it) => it.disabled || replaced.has(it))) throw error
            failure = new RpcFailed(endpoint.name, { kind: 'contradictory' }, error)
            // It comes last for a while, like one that is behind; the fact is reported once in that time.
            if (endpoint.setBehind(true)) {
              const fact = {
                kind: 'rpc-failed',
                endpoint: endpoint.name,
                problem: 'contradictory',
                retryMs: 0,
              } as const
              report({ ...fact, error: failure })
            }
            continue
          }
          const problem = isRpcError(error) ? classify(error) : undefined
          if (!problem || problem.kind === 'reverted') {
            recordAnswer(endpoint, epoch)
            throw problem ? new RpcFailed(endpoint.name, problem, error) : error
          }
          failure = new RpcFailed(endpoint.name, problem, error)
          if (recordFailure(endpoint, epoch, failure, problem, options)) left.delete(endpoint)
          // A narrower range is faster than another endpoint, which most likely answers the same.
          if (problem.kind === 'too-many-results' && (options.blocks ?? 1) > 1) throw failure
        }
      }
      throw failure ?? new Error('There is no RPC endpoint to ask.')
    },
    maxBlocks() {
      const usable = endpoints.filter((it) => !it.disabled)
      const atHand = usable.filter((it) => it.waitMs() === 0)
      return Math.max(...(atHand.length > 0 ? atHand : usable).map((it) => it.maxBlocks))
    },
    waitForOther(client) {
      const others = endpoints.filter((it) => it.client !== client && !it.disabled)
      return others.length === 0 ? 0 : Math.min(...others.map((it) => it.waitMs()))
    },
    penalize(client, error) {
      const endpoint = endpoints.find((it) => it.client === client)
      if (endpoint) recordFailure(endpoint, endpoint.breaker.begin(), error, error.problem, {})
    },
  }
}

/** A fact without its network. */
type EndpointFact = IngestFact extends infer F ? (F extends IngestFact ? Omit<F, 'network'> : never) : never

function behindFact({ name, head }: Endpoint, best: number | undefined): EndpointFact {
  return { kind: 'endpoint-behind', endpoint: name, head, best }
}

/** Sort keys, most important first; lower is better. */
function rank(endpoint: Endpoint, { atLeast, blocks = 1, notFirst }: RunOptions): number[] {
  return [
    Number(endpoint.waitMs() > 0),
    Number(endpoint.client === notFirst),
    Number(atLeast !== undefined && endpoint.isBelow(atLeast)),
    Number(endpoint.isBehind),
    Number(endpoint.maxBlocks < blocks),
  ]
}

/** Equal ranks keep the order of configuration: sorting is stable. */
function compareRanks(a: readonly number[], b: readonly number[]): number {
  const index = a.findIndex((value, place) => value !== b[place])
  return index === -1 ? 0 : (a[index] ?? 0) - (b[index] ?? 0)
}
