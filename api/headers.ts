/** Headers of an answer: which pool it speaks of, and how long it may be kept. */
import { createHash } from 'node:crypto'
import type { Response } from 'express'
import type { Answer } from './market/market.ts'
import { viewPair } from './market/orientation.ts'

/** Header values are ASCII; what is not is percent-encoded as UTF-8, and the percent sign with it, so that it reads back. */
export function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e]|%/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  )
}

export function setMarket(res: Response, { view, passedOver }: Pick<Answer<unknown>, 'view' | 'passedOver'>): void {
  const { network, pool } = view.listing
  res.set({
    'X-Market-Network': network.name,
    'X-Market-Pool': pool.id,
    'X-Market-Pair': headerText(viewPair(view).join('-')),
  })
  if (passedOver) res.set('X-Market-Lead', `${passedOver.reason}; passed-over=${passedOver.pool}`)
  if (network.devnet) setDevnet(res)
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
