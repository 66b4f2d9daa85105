/** Endpoints compared with each other: one that stands still answers without an error, and only its peers show it. */
import type { Endpoint } from './endpoint.ts'

/** A few blocks apart is how far nodes always are. */
const LAG_BLOCKS = 3
/** Heads that are asked for together are still read this far apart. */
const SKEW_SECONDS = 2

type Look = (
  endpoints: readonly Endpoint[],
  verify: (endpoint: Endpoint) => Promise<void>,
  onBehind: (endpoint: Endpoint, best: number) => void,
) => Promise<void>

/** Compares at most once in `everyMs`; `onBehind` hears of each endpoint that has fallen behind since. */
export function comparePeers(everyMs: number): Look {
  let nextAt = 0
  let before: { best: number; at: number } | undefined
  return async function compare(endpoints, verify, onBehind) {
    const now = Date.now()
    if (now < nextAt) return
    nextAt = now + everyMs
    const heads = await Promise.all(endpoints.map((endpoint) => headOf(endpoint, verify)))
    const known = heads.filter((head) => head !== undefined)
    if (known.length < 2) return
    const best = Math.max(...known)
    const seconds = before ? (now - before.at) / 1_000 : 0
    const perSecond = before && seconds > 0 ? Math.max(0, best - before.best) / seconds : 0
    before = { best, at: now }
    for (const [index, endpoint] of endpoints.entries()) {
      const head = heads[index]
      if (head === undefined) continue
      const behind = head < best - LAG_BLOCKS - SKEW_SECONDS * perSecond
      if (endpoint.setBehind(behind)) onBehind(endpoint, best)
    }
  }
}

/** Undefined where it does not answer: whoever needs it will see that. */
async function headOf(endpoint: Endpoint, verify: (endpoint: Endpoint) => Promise<void>): Promise<number | undefined> {
  try {
    await verify(endpoint)
    if (endpoint.disabled) return undefined
    const head = Number(await endpoint.client.request({ method: 'eth_blockNumber' }))
    return Number.isSafeInteger(head) ? head : undefined
  } catch {
    return undefined
  }
}
