/**
 * One query that readers follow: the rows that they know, and the events that bring them to each newer answer. Events are the difference
 * of two answers, so that after any change of the tables the folded events equal the answer at the tip that they end with.
 */
import { randomUUID } from 'node:crypto'
import { serial } from '../../../ingest/lib/serial.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import type { ConcurrencyLimit } from '../../lib/concurrency-limit.ts'
import type { NetworkStates } from '../../market/cache/change-poller.ts'
import type { ChangedPools } from '../../market/cache/state-listeners.ts'
import type { Market } from '../../market/market.ts'
import { formatTime } from '../../query/time.ts'
import { EventLog } from './event-log.ts'
import type { ReadScope, RowReader } from './row-reader.ts'
import { difference, type FeedRow, type Known } from './rows.ts'

/** Gets each event once, in order. */
export type FeedReader = { write(text: string): void }

/** A pool of the feed. */
export type FeedMember = { network: NetworkName; pool: PoolId; pair: string; reader: RowReader }

type Member = FeedMember & Known & { pending: ReadScope | undefined }

export class Feed {
  readonly #id = randomUUID()
  readonly #market: Market
  readonly #members: readonly Member[]
  readonly #limit: ConcurrencyLimit
  readonly #onFailure: (error: unknown) => void
  readonly #log = new EventLog()
  readonly #readers = new Set<FeedReader>()
  readonly #serialize = serial()
  /** By network: the data of the last tip event. */
  readonly #tips = new Map<NetworkName, string>()
  #isScheduled = false
  /** When the last reader left, on the clock of `performance.now`. */
  #idleSince = performance.now()

  /** `limit` bounds the refreshes of all feeds. */
  constructor(
    market: Market,
    members: readonly FeedMember[],
    limit: ConcurrencyLimit,
    onFailure: (error: unknown) => void,
  ) {
    this.#market = market
    this.#limit = limit
    this.#members = members.map((member) => ({ ...member, rows: [], shown: new Set(), pending: 'all' }))
    this.#onFailure = onFailure
  }

  /** Undefined while there is a reader. */
  get idleMs(): number | undefined {
    return this.#readers.size > 0 ? undefined : performance.now() - this.#idleSince
  }

  /** The state of a network is shown, and these pools have changed. */
  onState(network: NetworkName, changed: ChangedPools): void {
    for (const member of this.#members) {
      if (member.network !== network) continue
      if (changed === 'all') member.pending = 'all'
      else if (changed.has(member.pool)) member.pending ??= 'tail'
    }
    if (this.#members.some((one) => one.network === network)) this.#schedule()
  }

  #schedule(): void {
    if (this.#readers.size === 0 || this.#isScheduled) return
    this.#isScheduled = true
    this.#serialize(() => this.#limit(() => this.#refresh())).catch((error: unknown) => {
      // The next state begins a new refresh.
      this.#isScheduled = false
      this.#onFailure(error)
    })
  }

  /**
   * Adds a reader. `after`: the id of the last event that it has. It gets the events after that one, or else a snapshot. Resolves with true if
   * it was resumed. `credits` is written into the snapshot.
   */
  join(reader: FeedReader, after: string | undefined, credits: number): Promise<boolean> {
    return this.#serialize(async () => {
      // A feed without readers does not follow the tables.
      if (this.#readers.size === 0) for (const member of this.#members) member.pending = 'all'
      await this.#refresh()
      const missed = this.#missedSince(after)
      if (missed) for (const { text } of missed) reader.write(text)
      else this.#writeSnapshot(reader, credits)
      for (const tip of this.#tips.values()) reader.write(this.#tipText(tip))
      this.#readers.add(reader)
      if (this.#members.some(({ pending }) => pending)) this.#schedule()
      return missed !== undefined
    })
  }

  leave(reader: FeedReader): void {
    if (this.#readers.delete(reader)) this.#idleSince = performance.now()
  }

  close(): void {
    this.#log.clear()
  }

  #missedSince(after: string | undefined) {
    const [id, sequence] = after?.split('.') ?? []
    return id === this.#id && /^\d{1,15}$/.test(sequence ?? '') ? this.#log.since(Number(sequence)) : undefined
  }

  #writeSnapshot(reader: FeedReader, credits: number): void {
    const id = `${this.#id}.${this.#log.sequence}`
    for (const [index, member] of this.#members.entries()) {
      // A reader that has only the first of several snapshots must not resume after it.
      const isLast = index === this.#members.length - 1
      const shown = member.reader.shown(member.rows)
      const data = snapshotOf(member, shown, index === 0 ? credits : 0)
      reader.write(eventText('snapshot', data, isLast ? id : undefined))
    }
  }

  /** A tip has the id of the event before it, and only the newest is kept: the log grows with changes, not with blocks. */
  #tipText(tip: string): string {
    return eventText('tip', tip, `${this.#id}.${this.#log.sequence}`)
  }

  async #refresh(): Promise<void> {
    this.#isScheduled = false
    const states = await this.#market.states()
    const networks = new Set(this.#members.map(({ network }) => network))
    const tips = new Map([...networks].map((network) => [network, states.get(network)?.tip]))
    for (const member of this.#members) await this.#read(member, states)
    for (const [network, tip] of tips) {
      const state = states.get(network)
      // A newer tip has its own refresh.
      if (!tip || state?.tip !== tip) continue
      const { number, hash, timestamp } = tip
      const finalUntil = state.coverage.final && { final_until: formatTime(state.coverage.final.timestamp) }
      const data = JSON.stringify({ network, block: number, hash, timestamp: formatTime(timestamp), ...finalUntil })
      if (this.#tips.get(network) === data) continue
      this.#tips.set(network, data)
      this.#write(this.#tipText(data))
    }
  }

  async #read(member: Member, states: NetworkStates): Promise<void> {
    const { network, pool, reader, pending } = member
    const scope = pending ?? (reader.isDue(states) ? 'tail' : undefined)
    if (!scope) return
    member.pending = undefined
    const reading = await reader.read(member.rows, scope).catch((error: unknown) => {
      member.pending = 'all'
      throw error
    })
    const shown = reader.shown(reading.rows)
    const { retracted, changed } = difference(member, reading, shown)
    member.rows = reading.rows
    member.shown = new Set(shown.map(({ key }) => key))
    if (reading.isCut) return this.#send('snapshot', snapshotOf(member, shown, 0))
    const market = membersOf({ network, pool })
    if (retracted.length > 0) {
      const keys = JSON.stringify(retracted.map(({ key }) => key))
      this.#send('retract', `{${market},"${reader.kind === 'tick' ? 'ids' : 'times'}":${keys}}`)
    }
    for (const { json } of changed) this.#send(reader.kind, `{${market},${json.slice(1)}`)
  }

  #send(event: string, data: string): void {
    this.#write(this.#log.add((sequence) => eventText(event, data, `${this.#id}.${sequence}`)).text)
  }

  #write(text: string): void {
    for (const reader of this.#readers) reader.write(text)
  }
}

function snapshotOf({ network, pool, pair }: FeedMember, shown: readonly FeedRow[], credits: number): string {
  const data = shown.map(({ json }) => json).join()
  return `{${membersOf({ network, pool, pair })},"data":[${data}],"credits_used":${credits}}`
}

/** The members of a JSON object, without its braces. */
function membersOf(value: object): string {
  return JSON.stringify(value).slice(1, -1)
}

function eventText(event: string, data: string, id: string | undefined): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`
}
