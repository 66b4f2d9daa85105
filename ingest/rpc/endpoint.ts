/** One RPC endpoint: a viem client, its rate, its health, and what is known of its head and its limits. */
import type { Client } from 'viem'
import { CircuitBreaker } from './circuit-breaker.ts'
import { RateLimiter } from './rate-limiter.ts'
import type { RetryPolicy } from './retry-policy.ts'
import { classify } from './rpc-error.ts'

/** What was seen of a head says nothing after this long. */
const HEAD_IS_NEWS_MS = 10_000

export class Endpoint {
  /** The host; never the path, which is a key. */
  readonly name: string
  /** Every request through it keeps to the rate. */
  readonly client: Client
  readonly breaker: CircuitBreaker
  readonly limiter: RateLimiter
  /** It belongs to another network. */
  disabled = false
  /** Its chain id is the network's. */
  verified = false
  readonly #policy: RetryPolicy
  #head: { number: number; seenAt: number } | undefined
  #cap: { blocks: number; until: number } | undefined
  #behindUntil = 0

  /** `onCalled` hears of every request, once it is answered or has failed. */
  constructor(
    name: string,
    client: Client,
    policy: RetryPolicy,
    signal: AbortSignal,
    onCalled: (method: string, ms: number) => void,
  ) {
    this.name = name
    this.#policy = policy
    this.breaker = new CircuitBreaker(policy)
    this.limiter = new RateLimiter(policy)
    const request = async (args: { method: string; params?: unknown }, requestOptions?: object) => {
      const sentAt = await this.limiter.take(signal)
      signal.throwIfAborted()
      const began = performance.now()
      try {
        const answer: unknown = await client.request(args as never, requestOptions as never)
        this.limiter.answered()
        this.#observe(args, answer)
        return answer
      } catch (error) {
        const problem = classify(error)
        if (problem.kind === 'rate-limited') this.limiter.refused(sentAt, problem.retryAfterMs)
        throw error
      } finally {
        onCalled(args.method, performance.now() - began)
      }
    }
    this.client = { ...client, request: request as Client['request'] }
  }

  /** How long it should be let alone. */
  waitMs(): number {
    return Math.max(this.breaker.waitMs(), this.limiter.waitMs())
  }

  get head(): number | undefined {
    return this.#head?.number
  }

  /** Behind its peers, when they were last compared. */
  get isBehind(): boolean {
    return Date.now() < this.#behindUntil
  }

  /** True where this is news. */
  setBehind(behind: boolean): boolean {
    const isNews = behind && !this.isBehind
    this.#behindUntil = behind ? Date.now() + this.#policy.behindMs * (0.5 + this.#policy.random() / 2) : 0
    return isNews
  }

  /** Known, and lately, not to have this block. */
  isBelow(block: number): boolean {
    return this.#head !== undefined && this.#head.number < block && Date.now() - this.#head.seenAt < HEAD_IS_NEWS_MS
  }

  /** The widest range that it is not known to refuse. */
  get maxBlocks(): number {
    return this.#cap && Date.now() < this.#cap.until ? this.#cap.blocks : Number.POSITIVE_INFINITY
  }

  /** It refused a range of `asked` blocks for its width, and may have said what its limit is. */
  capRange(stated: number | undefined, asked: number): void {
    const half = Math.max(1, Math.floor(asked / 2))
    // A number that would have allowed what was refused is not the limit.
    const blocks = stated !== undefined && stated < asked ? stated : half
    this.#cap = { blocks: Math.min(blocks, this.maxBlocks), until: Date.now() + this.#policy.capMs }
  }

  #observe({ method, params }: { method: string; params?: unknown }, answer: unknown): void {
    if (method === 'eth_blockNumber') this.#sawHead(Number(answer), true)
    if (method !== 'eth_getBlockByNumber') return
    const number = Number((answer as { number?: unknown } | null)?.number)
    this.#sawHead(number, Array.isArray(params) && params[0] === 'latest')
  }

  #sawHead(number: number, isLatest: boolean): void {
    if (!Number.isSafeInteger(number)) return
    if (isLatest || number > (this.#head?.number ?? -1)) this.#head = { number, seenAt: Date.now() }
  }
}
