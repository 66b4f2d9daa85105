/** The endpoints of one network: each unit of work is done by one of them, and by the next where that one fails. */
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
   * Runs `task` against one endpoint: all its requests go there. Where it fails in a way that another endpoint may not,
   * the next one is asked. Throws `RpcFailed` where none could do it, and whatever `task` throws that is not about an endpoint.
   */
  run<T>(task: (client: Client) => Promise<T>, options?: RunOptions): Promise<T>
  /** The widest range of blocks that an endpoint at hand is not known to refuse. */
  maxBlocks(): number
  /** How long it takes until another endpoint than this one may be asked; 0 where there is no other. */
  waitForOther(client: Client): number
  /** What they name as final. */
  finality: Finality
  /** An answer of this client was shown to be wrong by another endpoint. */
  penalize(client: Client, error: BadAnswer): void
}

export type RunOptions = {
  /** Endpoints known to be below this block are asked last. */
  atLeast?: number | undefined
  /** The width of the range that is asked for: endpoints known to refuse it are asked last. */
  blocks?: number
  /** Asked last where there is another. */
  notFirst?: Client
}

export type EndpointsOptions = {
  /** Checks every endpoint's chain id before its first use. */
  network?: Network
  report?: Report<IngestFact>
  signal?: AbortSignal
  retryPolicy?: Partial<RetryPolicy>
}

/** In the order of preference. A client's `name` is shown in facts: its host. The clients must not retry: that is done here. */
export function endpointsOf(clients: readonly Client[], options: EndpointsOptions = {}): Endpoints {
  const { network, signal = new AbortController().signal } = options
  const retryPolicy = { ...RETRY_POLICY, ...options.retryPolicy }
  // Every request that waits listens to it.
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

  /** An endpoint of another network is not asked again. */
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

  /** The best of those that are left; the one that rests for the shortest time is waited for where all of them rest. */
  async function next(left: ReadonlySet<Endpoint>, run: RunOptions): Promise<Endpoint | undefined> {
    while (!signal.aborted) {
      const candidates = [...left].filter((it) => !it.disabled).sort((a, b) => compareRanks(rank(a, run), rank(b, run)))
      const [best] = candidates
      if (!best || best.waitMs() === 0) return best
      // One that has answered, and lacks only the block: it may have it sooner than the others are back.
      if (left.size < endpoints.length && endpoints.some((it) => !left.has(it) && !it.disabled)) return undefined
      await pause(Math.min(...candidates.map((it) => it.waitMs())), signal)
    }
    return undefined
  }

  /** Whatever it answered: it is there. */
  function recordAnswer(endpoint: Endpoint, epoch: number): void {
    const failures = endpoint.breaker.succeeded(epoch)
    if (failures > 0) report({ kind: 'endpoint-recovered', endpoint: endpoint.name, failures })
  }

  /** Takes note of a failure; true where the endpoint is not worth asking again for this. */
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
            // One endpoint may be on a fork of its own; all of them are not.
            recordAnswer(endpoint, epoch)
            left.delete(endpoint)
            replaced.add(endpoint)
            report({ kind: 'rpc-erred', endpoint: endpoint.name, problem: 'contradictory' })
            if (endpoints.every((it) => it.disabled || replaced.has(it))) throw error
            failure = new RpcFailed(endpoint.name, { kind: 'contradictory' }, error)
            // It is asked last for a while, as one that is behind, and an operator hears of it once in that while.
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
          // Fewer blocks are quicker than another endpoint, which would most likely say the same.
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

/** A fact of ours, before the network is added. */
type EndpointFact = IngestFact extends infer F ? (F extends IngestFact ? Omit<F, 'network'> : never) : never

function behindFact({ name, head }: Endpoint, best: number | undefined): EndpointFact {
  return { kind: 'endpoint-behind', endpoint: name, head, best }
}

/** What counts first comes first; lower is better. */
function rank(endpoint: Endpoint, { atLeast, blocks = 1, notFirst }: RunOptions): number[] {
  return [
    Number(endpoint.waitMs() > 0),
    Number(endpoint.client === notFirst),
    Number(atLeast !== undefined && endpoint.isBelow(atLeast)),
    Number(endpoint.isBehind),
    Number(endpoint.maxBlocks < blocks),
  ]
}

/** Equal ranks stay in the order of configuration: sorting is stable. */
function compareRanks(a: readonly number[], b: readonly number[]): number {
  const index = a.findIndex((value, place) => value !== b[place])
  return index === -1 ? 0 : (a[index] ?? 0) - (b[index] ?? 0)
}
