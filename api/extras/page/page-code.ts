/** A one-time code that the page exchanges for a key: a link holds the code and not the key, since browsers keep addresses in their history. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

export type PageCode = {
  /** A code for this key; it replaces the one before. */
  issue(key: string): string
  /** The key, once and within CODE_MINUTES. */
  exchange(code: string): string | undefined
}

export const CODE_MINUTES = 10

export function openPageCode(clock: () => Date): PageCode {
  let issued: { digest: Buffer; key: string; until: number } | undefined
  return {
    issue(key) {
      const code = randomBytes(24).toString('base64url')
      issued = { digest: digestOf(code), key, until: clock().getTime() + CODE_MINUTES * 60_000 }
      return code
    },
    exchange(code) {
      // Digests have equal lengths, as the constant-time comparison requires.
      if (issued === undefined || !timingSafeEqual(issued.digest, digestOf(code))) return undefined
      const { key, until } = issued
      issued = undefined
      return clock().getTime() < until ? key : undefined
    },
  }
}

function digestOf(code: string): Buffer {
  return createHash('sha256').update(code).digest()
}
