/** A code that is exchanged for a key, once and soon: a link may hold it, since a browser's history keeps every address. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

export type PageCode = {
  /** A code for this key; the one before it is void. */
  issue(key: string): string
  /** The key, the first time that the code is given in time. */
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
      // Digests have one length, and are compared in one time.
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
