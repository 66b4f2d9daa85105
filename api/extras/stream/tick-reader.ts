/**
 * Reads the ticks of a feed. Beside the rows of an answer all that are not final stay watched, so that a reorg retracts each of them.
 * After new blocks only the ticks since the last reading are read.
 */
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { MarketAnswer } from '../../market/answer.ts'
import { tickRow } from '../../market/answer-rows.ts'
import type { Market } from '../../market/market.ts'
import { type TickView, viewPair } from '../../market/model/orientation.ts'
import { type TickQuery, tickRange } from '../../query/query.ts'
import { instantOf } from '../../query/time.ts'
import type { ReadScope, RowReader } from './row-reader.ts'
import { type FeedRow, feedRow, type Reading } from './rows.ts'

/** Ticks of a pool that trades more before its blocks are final: its oldest ones are no longer watched. */
const MAX_WATCHED = 20_000

export function tickReader(market: Market, network: NetworkName, query: TickQuery, clock: () => Date): RowReader {
  const start = () => tickRange(query, instantOf(clock())).from
  const end = () => tickRange(query, instantOf(clock())).to
  /** Ticks that were not there at the last reading are of this second or later. */
  let readUntil: UnixSeconds | undefined
  /** The last reading ended here, at or before the time of its tip. */
  let cutAt: UnixSeconds | undefined

  const stored = (from: UnixSeconds, limit: number) =>
    market.ticks({ ...query, from: { seconds: from, fraction: '' }, limit }, 'stored')

  /** The rows of an answer, and all since the oldest known one, or since `until` where that is older: later readings begin there. */
  async function whole(
    before: readonly FeedRow[],
    until: UnixSeconds,
    isOnLedger: (tick: TickView) => boolean,
  ): Promise<MarketAnswer<TickView>> {
    const from = start()
    const oldestKnown = Math.min(before[0]?.time ?? Number.POSITIVE_INFINITY, until)
    for (let limit = query.limit; ; limit = Math.min(4 * limit, MAX_WATCHED)) {
      const answer = await stored(from, limit)
      const isCut = answer.rows.length === limit
      // Those whose blocks are not on the ledger yet take no places of others.
      if (isCut && limit < MAX_WATCHED && answer.rows.filter(isOnLedger).length < query.limit) continue
      const isRangeRead = !isCut && from <= oldestKnown
      const reachesKnown = (answer.rows[0]?.time ?? oldestKnown) < oldestKnown
      return isRangeRead || reachesKnown ? answer : stored(oldestKnown, MAX_WATCHED)
    }
  }

  /** Drops the final rows that no answer would have. */
  function watched(rows: readonly FeedRow[], finalUntil: UnixSeconds): Omit<Reading, 'isCut'> {
    const shownFrom = Math.max(start(), rows.at(-query.limit)?.time ?? 0)
    const from = Math.max(Math.min(shownFrom, finalUntil), rows.at(-MAX_WATCHED)?.time ?? 0)
    return { rows: rows.filter(({ time }) => time >= from), from }
  }

  async function read(before: readonly FeedRow[], scope: ReadScope): Promise<Reading> {
    const tip = (await market.states()).get(network)?.tip
    const since = scope === 'tail' ? readUntil : undefined
    // Block times may be ahead of the clock.
    const to = end()
    const isOnLedger = ({ block }: TickView) => tip === undefined || block <= tip.number
    const answer =
      since === undefined
        ? await whole(before, Math.min(tip?.timestamp ?? to, to), isOnLedger)
        : await stored(since, MAX_WATCHED)
    const isCut = since !== undefined && answer.rows.length === MAX_WATCHED
    const pair = viewPair(answer.view)
    const known = new Map(answer.rows.every(isOnLedger) ? [] : before.map(({ key, json }) => [key, json]))
    // A tick is stored before its block is on the ledger, and is sent only then. While a rollback lowers the tip, ticks that were sent stay.
    const visible = answer.rows.flatMap((tick) => {
      const row = feedRow(tick.id, tick.time, tickRow(tick, pair, query.include))
      return isOnLedger(tick) || known.get(row.key) === row.json ? [row] : []
    })
    const kept = since === undefined || isCut ? [] : before.filter(({ time }) => time < since)
    const rows = [...kept, ...visible]
    readUntil = tip && Math.min(tip.timestamp, to)
    cutAt = tip && tip.timestamp >= to ? to : undefined
    return { ...watched(rows, answer.finalUntil ?? 0), isCut }
  }

  return {
    kind: 'tick',
    isDue: () => cutAt !== undefined && cutAt < end(),
    read,
    shown: (rows) => rows.filter(({ time }) => time >= start()).slice(-query.limit),
  }
}
