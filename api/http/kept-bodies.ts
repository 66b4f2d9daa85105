/** Bytes and ETag of closed answers, each made once: they live as long as the array of rows that they show, see ../market/candles/closed-rows.ts. */
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { MarketAnswer } from '../market/answer.ts'
import { etagOf } from './headers.ts'

export type Encoding = 'br' | 'gzip'

/** `etag`: of a closed answer; `encoded`: its text as it was asked for. */
export type KeptBody = { text: Buffer; etag?: string; encoded?: Map<Encoding, Buffer> }

/** Below this the compression middleware does not compress either, and its brotli has this quality. */
const MIN_ENCODED_BYTES = 1_024
const BROTLI_QUALITY = 4

export type KeptBodies = (answer: MarketAnswer<unknown>, body: () => object) => KeptBody

export function openKeptBodies(): KeptBodies {
  const bodies = new WeakMap<object, KeptBody & { cost: number }>()
  return ({ rows, cost, closed }, body) => {
    if (!closed) return { text: Buffer.from(JSON.stringify(body())) }
    const known = bodies.get(rows)
    // The cost is part of the body.
    if (known?.cost === cost) return known
    const text = Buffer.from(JSON.stringify(body()))
    const kept = { cost, text, etag: etagOf(text), encoded: new Map() }
    bodies.set(rows, kept)
    return kept
  }
}

/** The text in this encoding: compressed once where the body is kept. Undefined where it is sent as it is. */
export function encodedText({ text, encoded }: KeptBody, encoding: Encoding): Buffer | undefined {
  if (encoded === undefined || text.byteLength < MIN_ENCODED_BYTES) return undefined
  const known = encoded.get(encoding)
  if (known) return known
  const params = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY }
  const made = encoding === 'br' ? brotliCompressSync(text, { params }) : gzipSync(text)
  encoded.set(encoding, made)
  return made
}
