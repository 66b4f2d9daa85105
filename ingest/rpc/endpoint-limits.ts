/** The limits of one endpoint, as its refusals teach them. Each is forgotten after a while: a plan or a node behind the address may change. */
import type { Client } from 'viem'
import type { Oddity } from '../model/fact.ts'

export type LimitsContext = {
  /** How long a limit is assumed. */
  forMs: number
  /** Called once for each oddity. */
  onOddity(oddity: Oddity, detail: string): void
}

/** `search`: by a pool or a topic that few logs have. An endpoint answers such a filter over wider ranges than all events. */
export type RangeKind = 'events' | 'search'

type Limit = { value: number; sinceMs: number }

const FEWEST_ANSWERS = 4
const MAX_ANSWERS = 256

/**
 * Width of the ranges that an endpoint answers where it states no limit: halved by a failure, doubled by some answers in a row at full width, or by
 * time. A failure at a doubled width doubles the number of answers before the next attempt, so that a fixed limit costs few failures.
 */
export class PassingWidth {
  readonly #forMs: number
  #blocks = Number.POSITIVE_INFINITY
  #sinceMs = 0
  /** Answers in a row at full width. */
  #answers = 0
  #needed = FEWEST_ANSWERS
  /** The width was doubled, and is not confirmed yet. */
  #isTrial = false

  /** Without answers the width doubles once in `forMs`: another endpoint may have been preferred meanwhile. */
  constructor(forMs: number) {
    this.#forMs = forMs
  }

  get blocks(): number {
    return this.#blocks * 2 ** Math.floor((performance.now() - this.#sinceMs) / this.#forMs)
  }

  failed(asked: number): void {
    const half = Math.max(1, Math.floor(asked / 2))
    this.#answers = 0
    // Several ranges are in flight: a failure at an earlier, larger width is not news.
    if (half >= this.blocks) return
    if (this.#isTrial) this.#needed = Math.min(MAX_ANSWERS, this.#needed * 2)
    this.#set(half, false)
  }

  answered(blocks: number): void {
    if (blocks < this.blocks || ++this.#answers < (this.#isTrial ? FEWEST_ANSWERS : this.#needed)) return
    if (this.#isTrial) this.#needed = FEWEST_ANSWERS
    this.#set(2 * this.blocks, true)
  }

  /** The failures had another cause. */
  forget(): void {
    this.#needed = FEWEST_ANSWERS
    this.#set(Number.POSITIVE_INFINITY, false)
  }

  #set(blocks: number, isTrial: boolean): void {
    this.#blocks = blocks
    this.#sinceMs = performance.now()
    this.#answers = 0
    this.#isTrial = isTrial
  }
}

export class EndpointLimits {
  readonly #context: LimitsContext
  #cap: Limit | undefined
  readonly #passing: Readonly<Record<RangeKind, PassingWidth>>
  #values: Limit | undefined
  #pruned: Limit | undefined
  #logsFrom: Limit | undefined
  #byNumberSinceMs = Number.NEGATIVE_INFINITY
  readonly #reported = new Set<Oddity>()

  constructor(context: LimitsContext = { forMs: Number.POSITIVE_INFINITY, onOddity: () => undefined }) {
    this.#context = context
    this.#passing = { events: new PassingWidth(context.forMs), search: new PassingWidth(context.forMs) }
  }

  /** The widest range that it is not known to refuse or to fail at. */
  maxBlocks(kind: RangeKind = 'events'): number {
    return Math.min(this.#valid(this.#cap), this.#passing[kind].blocks)
  }

  /** It refused a range of `asked` blocks for its width; `stated` is the limit that it named. */
  capRange(stated: number | undefined, asked: number): void {
    this.#cap = limitOf(Math.min(reduced(stated, asked), this.#valid(this.#cap)))
  }

  /** It failed at a range of `asked` blocks, without naming a limit, and answers other requests. */
  narrow(asked: number, kind: RangeKind = 'events'): void {
    this.#passing[kind].failed(asked)
  }

  /** It answered a range of `blocks`. */
  answered(blocks: number, kind: RangeKind = 'events'): void {
    this.#passing[kind].answered(blocks)
  }

  /** How many addresses, or topics of one place, a filter may have. */
  get maxValues(): number {
    return this.#valid(this.#values)
  }

  /** It refused a filter with `asked` addresses, or topics of one place. */
  refuseValues(stated: number | undefined, asked: number): void {
    const value = Math.min(reduced(stated, asked), this.maxValues)
    this.#values = limitOf(value)
    // The width was not the cause of earlier failures.
    for (const width of Object.values(this.#passing)) width.forget()
    this.reportOnce('few-values', `a filter takes ${value} addresses`)
  }

  /** Whether the logs of one block are asked for by its number. */
  get isByNumber(): boolean {
    return performance.now() < this.#byNumberSinceMs + this.#context.forMs
  }

  /** It does not answer the logs of a block by its hash, and does so by its number. */
  refuseHash(): void {
    this.#byNumberSinceMs = performance.now()
    this.reportOnce('no-logs-by-hash', 'logs of a block are read by its number')
  }

  /** Whether it was found without a block that is not older than this one. */
  lacks(block: number): boolean {
    return block <= this.#valid(this.#pruned, -1)
  }

  noteLack(block: number): void {
    this.#pruned = limitOf(Math.max(block, this.#valid(this.#pruned, -1)))
    if (this.hasLogsFrom(block)) this.#logsFrom = undefined
  }

  /** Whether it has shown the logs of a block that is not newer than this one. */
  hasLogsFrom(block: number): boolean {
    return block >= this.#valid(this.#logsFrom)
  }

  noteLogsFrom(block: number): void {
    this.#logsFrom = limitOf(Math.min(block, this.#valid(this.#logsFrom)))
    if (this.lacks(block)) this.#pruned = undefined
  }

  reportOnce(oddity: Oddity, detail: string): void {
    if (this.#reported.has(oddity)) return
    this.#reported.add(oddity)
    this.#context.onOddity(oddity, detail)
  }

  #valid(limit: Limit | undefined, none = Number.POSITIVE_INFINITY): number {
    return limit && performance.now() < limit.sinceMs + this.#context.forMs ? limit.value : none
  }
}

function limitOf(value: number): Limit {
  return { value, sinceMs: performance.now() }
}

/** A stated limit that is not below the refused number is not the limit. */
function reduced(stated: number | undefined, asked: number): number {
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
