/** Headers of an answer: the pool behind it, time that is missing or in doubt, and caching. */
import { createHash } from 'node:crypto'
import type { Response } from 'express'
import { hasHookDeltas } from '../../ingest/model/pool.ts'
import { venueOf } from '../../ingest/model/venue.ts'
import type { MarketAnswer } from '../market/answer.ts'
import { viewPair } from '../market/model/orientation.ts'
import { formatTime } from '../query/time.ts'
import type { TimeRange } from '../query/time-range.ts'

/** Runs `set` when the head is written: for answers, errors and 304 alike, after the credits are settled. */
export function beforeHead(res: Response, set: () => void): void {
  const write = res.writeHead.bind(res) as (...args: unknown[]) => Response
  res.writeHead = ((...args: unknown[]) => {
    set()
    return write(...args)
  }) as Response['writeHead']
}

/** Header values are ASCII: other characters and the percent sign are percent-encoded as UTF-8, so that the value decodes back. */
export function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e]|%/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  )
}

export function setMarket(res: Response, answer: MarketHeading): void {
  res.set(marketHeaders(answer))
}

type MarketHeading = Pick<MarketAnswer<unknown>, 'view' | 'passedOver' | 'finalUntil' | 'incomplete' | 'unproven'>

export function marketHeaders(answer: MarketHeading): Record<string, string> {
  const { view, passedOver, finalUntil, incomplete, unproven } = answer
  const { network, pool } = view.listing
  return {
    'X-Market-Network': network.name,
    'X-Market-Pool': pool.id,
    'X-Market-Venue': venueOf(pool),
    'X-Market-Pair': headerText(viewPair(view).join('-')),
    ...(hasHookDeltas(pool) && { 'X-Market-Hook-Deltas': 'true' }),
    ...(passedOver && { 'X-Market-Lead': `${passedOver.reason}; passed-over=${passedOver.pool}` }),
    ...(finalUntil !== undefined && { 'X-Market-Final-Until': formatTime(finalUntil) }),
    ...(incomplete.length > 0 && { 'X-Market-Incomplete': intervals(incomplete) }),
    ...(unproven.length > 0 && { 'X-Market-Unproven': intervals(unproven) }),
    ...(network.devnet && { [DEVNET]: 'true' }),
  }
}

/** Clients accept headers of some kilobytes. */
const MAX_INTERVALS = 40

/** ISO 8601 intervals. Beyond the maximum the last one reaches to the end of the last range. */
function intervals(ranges: readonly TimeRange[]): string {
  const shown = ranges.slice(0, MAX_INTERVALS)
  const [last, end] = [shown.pop(), ranges.at(-1)]
  if (last && end) shown.push({ from: last.from, to: end.to })
  return shown.map(({ from, to }) => `${formatTime(from)}/${formatTime(to)}`).join(', ')
}

/** The cost, for forms without a field for it. */
export const CREDITS_USED = 'X-Credits-Used'

/** Marks trades of a devnet. */
const DEVNET = 'X-Candlepool-Devnet'

export function setDevnet(res: Response): void {
  res.set(DEVNET, 'true')
}

/** Closed answers have an ETag: they may be stored and revalidated. All others must not be stored. */
export function cacheHeaders(etag: string | undefined): Record<string, string> {
  return etag === undefined
    ? { 'Cache-Control': 'private, no-store' }
    : { 'Cache-Control': 'private, no-cache', ETag: etag }
}

export type AnswerText = { text: string | Buffer; type: string; closed: boolean; etag?: string | undefined }

/** `Vary` is set here because a 304 has no Content-Type by which the compression middleware would set it. */
export function sendText(res: Response, { text, type, closed, etag }: AnswerText): void {
  res.vary('Accept-Encoding')
  res.set(cacheHeaders(closed ? (etag ?? etagOf(text)) : undefined))
  res.type(type).send(text)
}

/** Weak: it identifies the text, and the bytes may be compressed. */
export function etagOf(text: string | Buffer): string {
  return `W/"${createHash('sha256').update(text).digest('base64url').slice(0, 27)}"`
}

export function sendAnswer(res: Response, body: unknown, closed: boolean): void {
  sendText(res, { text: JSON.stringify(body), type: 'application/json', closed })
}
