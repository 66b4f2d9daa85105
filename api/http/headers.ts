/** Headers of an answer: which pool it speaks of, and how long it may be kept. */
import { createHash } from 'node:crypto'
import type { Response } from 'express'
import type { MarketAnswer } from '../market/answer.ts'
import { viewPair } from '../market/model/orientation.ts'
import { formatTime } from '../query/time.ts'
import type { TimeRange } from '../query/time-range.ts'

/** Runs `set` when the head of the answer is written: answers, errors and 304 alike, each after it was paid for. */
export function beforeHead(res: Response, set: () => void): void {
  const write = res.writeHead.bind(res) as (...args: unknown[]) => Response
  res.writeHead = ((...args: unknown[]) => {
    set()
    return write(...args)
  }) as Response['writeHead']
}

/** Header values are ASCII; what is not is percent-encoded as UTF-8, and the percent sign with it, so that it reads back. */
export function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e]|%/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  )
}

export function setMarket(
  res: Response,
  { view, passedOver }: Pick<MarketAnswer<unknown>, 'view' | 'passedOver'>,
): void {
  const { network, pool } = view.listing
  res.set({
    'X-Market-Network': network.name,
    'X-Market-Pool': pool.id,
    'X-Market-Pair': headerText(viewPair(view).join('-')),
  })
  if (passedOver) res.set('X-Market-Lead', `${passedOver.reason}; passed-over=${passedOver.pool}`)
  if (network.devnet) setDevnet(res)
}

/** Clients take headers of some kilobytes. */
const MAX_INTERVALS = 40

/** Time that is not stored, as ISO 8601 writes intervals; where they are too many, the last one reaches from the first that is left out to the end. */
export function setIncomplete(res: Response, ranges: readonly TimeRange[]): void {
  if (ranges.length === 0) return
  const shown = ranges.slice(0, MAX_INTERVALS)
  const [last, end] = [shown.pop(), ranges.at(-1)]
  if (last && end) shown.push({ from: last.from, to: end.to })
  res.set('X-Market-Incomplete', shown.map(({ from, to }) => `${formatTime(from)}/${formatTime(to)}`).join(', '))
}

/** Made-up trades must not pass for real ones. */
export function setDevnet(res: Response): void {
  res.set('X-Candlepool-Devnet', 'true')
}

/**
 * An answer about a range that is over may be kept and asked for again; all others are of this moment. The tag is a weak one,
 * since it names what is said and not its bytes: those may be compressed. A 304 has no type that would tell the compression to
 * vary, so that is said here.
 */
export function sendAnswer(res: Response, body: unknown, closed: boolean): void {
  const text = JSON.stringify(body)
  res.vary('Accept-Encoding')
  if (closed) {
    res.set('Cache-Control', 'private, no-cache')
    res.set('ETag', `W/"${createHash('sha256').update(text).digest('base64url').slice(0, 27)}"`)
  } else res.set('Cache-Control', 'private, no-store')
  res.type('application/json').send(text)
}
