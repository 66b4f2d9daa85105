/** One RPC endpoint: a viem client with its rate limiter, circuit breaker, observed head and limits. */
import type { Client } from 'viem'
import type { HeaderProof } from '../../proof/header-proof.ts'
import { checkAnswer } from '../answers.ts'
import { noteAsked } from '../asked.ts'
import { EndpointLimits, type LimitsContext, withLimits } from '../endpoint-limits.ts'
import type { RetryPolicy } from '../retry-policy.ts'
import { BadAnswer, classify } from '../rpc-error.ts'
import type { VoicedClient } from '../voice.ts'
import { CircuitBreaker, HeadDelay } from './circuit-breaker.ts'
import { type Priority, RateLimiter } from './rate-limiter.ts'
import type { RequestBudget } from './request-budget.ts'

export type EndpointContext = {
  policy: RetryPolicy
  /** Budget of the network, over all of its endpoints. */
  budget: RequestBudget | undefined
  signal: AbortSignal
  /** Called for every request, after its answer or failure. */
  onCalled: (method: string, ms: number) => void
  onOddity: LimitsContext['onOddity']
  /** Called after each answer for the head, and each that has not come in time. */
  onHead: () => void
  /** Absent where headers are used without proof. */
  headers: HeaderProof | undefined
}

/** A block that all nodes have is final at this age at the earliest, where finality is that of Ethereum. */
const CURRENT_SECONDS = 600
/** An observed head is valid for this long. */
const HEAD_IS_NEWS_MS = 10_000

export class Endpoint {
  /** The host; never the path, which contains a key. */
  readonly name: string
  /** An answer is confirmed by another voice only, see voice.ts. */
  readonly voice: string
  /** Requests through it keep to the rate limit and the budget. */
  readonly client: Client
  /** The same for backfills and audits: requests of `client` are sent first. */
  readonly historyClient: Client
  readonly breaker: CircuitBreaker
  readonly headDelay = new HeadDelay()
  /** It answers later than another one by a block time: live blocks are read from that. */
  isLate = false
  readonly limiter: RateLimiter
  readonly limits: EndpointLimits
  /** It serves another network. */
  disabled = false
  /** When its chain id was last the right one. */
  verifiedMs = Number.NEGATIVE_INFINITY
  readonly #policy: RetryPolicy
  #head: { number: number; seenAt: number } | undefined
  #headTime: number | undefined
  #behindUntil = 0

  constructor(name: string, voice: string, client: Client, context: EndpointContext) {
    this.name = name
    this.voice = voice
    this.#policy = context.policy
    this.breaker = new CircuitBreaker(context.policy)
    this.limiter = new RateLimiter(context.policy)
    this.limits = new EndpointLimits({ forMs: context.policy.capMs, onOddity: context.onOddity })
    this.client = this.#limited(client, 'live', context)
    this.historyClient = this.#limited(client, 'history', context)
  }

  #limited(client: Client, priority: Priority, { budget, signal, onCalled, onHead, headers }: EndpointContext): Client {
    const take = inTurns(async () => {
      if (budget) await budget.take(signal, priority)
      return this.limiter.take(signal, priority)
    })
    const request = async (args: { method: string; params?: unknown }, requestOptions?: object) => {
      const sentAt = await take()
      signal.throwIfAborted()
      const began = performance.now()
      const noteDelay = (isTimeout: boolean) => {
        if (!isOfHead(args)) return
        if (isTimeout) this.headDelay.noteTimeout()
        else this.headDelay.note(performance.now() - began)
        onHead()
      }
      try {
        const answer: unknown = await client.request(args as never, requestOptions as never)
        checkAnswer(args.method, answer)
        this.limiter.answered()
        if (args.method === 'eth_getBlockByNumber') this.#requireProof(answer, headers)
        this.#observe(args, answer)
        noteDelay(false)
        return answer
      } catch (error) {
        const problem = classify(error)
        noteAsked(error, args)
        if (problem.kind === 'timeout') noteDelay(true)
        if (problem.kind === 'rate-limited') this.limiter.refused(sentAt, problem.retryAfterMs)
        throw error
      } finally {
        onCalled(args.method, performance.now() - began)
      }
    }
    // By a revert of a certain form (ERC-3668), viem would send requests to addresses that the node names.
    const safe = { ccipRead: false } as const
    const own: VoicedClient = { ...client, ...safe, voice: this.voice, request: request as Client['request'] }
    return withLimits(own, this.limits)
  }

  #requireProof(answer: unknown, headers: HeaderProof | undefined): void {
    const problem = headers?.check(answer, (block) => this.#tellUnknownField(block))
    if (problem !== undefined) throw new BadAnswer('contradictory', problem, { isFault: true })
  }

  #tellUnknownField(block: number): void {
    this.limits.reportOnce(
      'unknown-header-field',
      `the header of block ${block} has a field that no known fork has: it is used without proof`,
    )
  }

  /** Whether a task received this client. */
  has(client: Client | undefined): boolean {
    return client === this.client || client === this.historyClient
  }

  /** Milliseconds until the next request. */
  waitMs(): number {
    return Math.max(this.breaker.waitMs(), this.limiter.waitMs())
  }

  /** It has answered once, has not failed so often in a row since, and not as often with an ill-formed answer. */
  isExpected(downFailures: number): boolean {
    const failures = Math.max(this.breaker.failures, this.breaker.faults)
    return !this.disabled && this.#head !== undefined && failures < downFailures
  }

  get head(): number | undefined {
    return this.#head?.number
  }

  /** Seconds; of the newest head that it has told. */
  get headTime(): number | undefined {
    return this.#headTime
  }

  /** Its newest head is no older than a final block: it has each block that is final. */
  get isCurrent(): boolean {
    return this.#headTime === undefined || Date.now() / 1_000 - this.#headTime < CURRENT_SECONDS
  }

  /** Behind its peers at the last comparison. */
  get isBehind(): boolean {
    return performance.now() < this.#behindUntil
  }

  /** True where it was not behind before. */
  setBehind(behind: boolean): boolean {
    const isNews = behind && !this.isBehind
    this.#behindUntil = behind ? performance.now() + this.#policy.behindMs * (0.5 + this.#policy.random() / 2) : 0
    return isNews
  }

  /** Whether its recently observed head is below this block. */
  isBelow(block: number): boolean {
    return (
      this.#head !== undefined && this.#head.number < block && performance.now() - this.#head.seenAt < HEAD_IS_NEWS_MS
    )
  }

  #observe({ method, params }: { method: string; params?: unknown }, answer: unknown): void {
    if (method === 'eth_blockNumber') this.#sawHead(Number(answer), true)
    if (method === 'eth_getLogs') {
      const last = Array.isArray(answer) ? (answer.at(-1) as { blockNumber?: unknown } | undefined) : undefined
      if (last) this.#sawHead(Number(last.blockNumber), false)
    }
    if (method !== 'eth_getBlockByNumber') return
    const block = (answer ?? {}) as { number?: unknown; hash?: unknown; timestamp?: unknown }
    // A pending block is no head.
    if (block.hash === null) return
    const isLatest = isOfHead({ method, params })
    if (isLatest) this.#headTime = Number(block.timestamp)
    this.#sawHead(Number(block.number), isLatest)
  }

  #sawHead(number: number, isLatest: boolean): void {
    if (!Number.isSafeInteger(number)) return
    if (isLatest || number > (this.#head?.number ?? -1)) this.#head = { number, seenAt: performance.now() }
  }
}

function isOfHead({ method, params }: { method: string; params?: unknown }): boolean {
  return method === 'eth_getBlockByNumber' && Array.isArray(params) && params[0] === 'latest'
}

/** A range's logs, and the headers of its ends. */
const MAX_TOGETHER = 3

/**
 * Requests of one turn wait for each other's permits, so that a limit does not take their batch apart: behind a load balancer each batch may
 * be answered by another node, and logs are complete only up to a header of the same node.
 */
function inTurns(take: () => Promise<number>): () => Promise<number> {
  let turn: Promise<number>[] = []
  return async () => {
    if (turn.length === 0 || turn.length === MAX_TOGETHER) {
      turn = []
      const opened = turn
      queueMicrotask(() => {
        if (turn === opened) turn = []
      })
    }
    const permits = turn
    const permit = take()
    permits.push(permit)
    await undefined
    await Promise.all(permits)
    return permit
  }
}
