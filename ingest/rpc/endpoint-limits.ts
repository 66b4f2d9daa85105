/** The limits of one endpoint, as its refusals teach them. Each is forgotten after a while: a plan or a node behind the address may change. */
import type { Client } from 'viem'
import type { Oddity } from '../model/fact.ts'

export type LimitsContext = {
  /** How long a limit is assumed; a width doubles after it. */
  forMs: number
  /** Called once for each oddity. */
  onOddity(oddity: Oddity, detail: string): void
}

type Limit = { value: number; sinceMs: number }

export class EndpointLimits {
  readonly #context: LimitsContext
  #cap: Limit | undefined
  #passing: Limit | undefined
  #values: Limit | undefined
  #pruned: Limit | undefined
  #byNumberSinceMs = Number.NEGATIVE_INFINITY
  readonly #told = new Set<Oddity>()

  constructor(context: LimitsContext = { forMs: Number.POSITIVE_INFINITY, onOddity: () => undefined }) {
    this.#context = context
  }

  /** The widest range that it is not known to refuse or to fail at. */
  get maxBlocks(): number {
    const passing = this.#passing
    const periods = passing ? Math.floor((Date.now() - passing.sinceMs) / this.#context.forMs) : 0
    const grown = passing ? passing.value * 2 ** periods : Number.POSITIVE_INFINITY
    return Math.min(this.#valid(this.#cap), grown)
  }

  /** It refused a range of `asked` blocks for its width; `stated` is the limit that it named. */
  capRange(stated: number | undefined, asked: number): void {
    this.#cap = limitOf(Math.min(lower(stated, asked), this.maxBlocks))
  }

  /** It failed at a range of `asked` blocks, without naming a limit, and answers other requests. */
  narrow(asked: number): void {
    this.#passing = limitOf(Math.min(lower(undefined, asked), this.maxBlocks))
  }

  /** How many addresses, or topics of one place, a filter may have. */
  get maxValues(): number {
    return this.#valid(this.#values)
  }

  /** It refused a filter with `asked` addresses, or topics of one place. */
  refuseValues(stated: number | undefined, asked: number): void {
    const value = Math.min(lower(stated, asked), this.maxValues)
    this.#values = limitOf(value)
    // The width was not the cause of earlier failures.
    this.#passing = undefined
    this.tell('few-values', `a filter takes ${value} addresses`)
  }

  /** Whether the logs of one block are asked for by its number. */
  get isByNumber(): boolean {
    return Date.now() < this.#byNumberSinceMs + this.#context.forMs
  }

  /** It does not answer the logs of a block by its hash, and does so by its number. */
  refuseHash(): void {
    this.#byNumberSinceMs = Date.now()
    this.tell('no-logs-by-hash', 'logs of a block are read by its number')
  }

  /** Whether it was found without a block that is not older than this one. */
  lacks(block: number): boolean {
    return block <= this.#valid(this.#pruned, -1)
  }

  noteLack(block: number): void {
    this.#pruned = limitOf(Math.max(block, this.#valid(this.#pruned, -1)))
  }

  tell(oddity: Oddity, detail: string): void {
    if (this.#told.has(oddity)) return
    this.#told.add(oddity)
    this.#context.onOddity(oddity, detail)
  }

  #valid(limit: Limit | undefined, none = Number.POSITIVE_INFINITY): number {
    return limit && Date.now() < limit.sinceMs + this.#context.forMs ? limit.value : none
  }
}

function limitOf(value: number): Limit {
  return { value, sinceMs: Date.now() }
}

/** A stated limit that is not below the refused number is not the limit. */
function lower(stated: number | undefined, asked: number): number {
  return stated !== undefined && stated < asked ? stated : Math.max(1, Math.floor(asked / 2))
}

const LIMITS = Symbol('limits')

/** `client`, with the limits of its endpoint. */
export function withLimits(client: Client, limits: EndpointLimits): Client {
  return Object.assign(client, { [LIMITS]: limits })
}

/** The limits of the endpoint that a task received; a client of its own has none. */
export function limitsOf(client: Client): EndpointLimits {
  return (client as { [LIMITS]?: EndpointLimits })[LIMITS] ?? new EndpointLimits()
}
