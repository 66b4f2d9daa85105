/** Compares the heads of endpoints: an endpoint that has stopped answers without an error, and only its peers reveal it. */

import type { BlockRef } from '../model/message.ts'
import type { Endpoint } from './endpoint.ts'
import type { Finality } from './finality.ts'
import { getHeader, getHeads, type Heads } from './rpc.ts'

/** Usual distance between nodes. */
const LAG_BLOCKS = 3
/** Heads of parallel requests are read up to this far apart. */
const SKEW_SECONDS = 2

export type CompareHeads = (
  endpoints: readonly Endpoint[],
  verify: (endpoint: Endpoint) => Promise<void>,
  onBehind: (endpoint: Endpoint, best: number) => void,
) => Promise<void>

/** Compares at most once in `everyMs`; calls `onBehind` for each endpoint that has newly fallen behind. */
export function compareHeads(everyMs: number, finality: Finality): CompareHeads {
  let nextAt = 0
  let before: { best: number; at: number } | undefined
  return async function compare(endpoints, verify, onBehind) {
    const now = Date.now()
    if (now < nextAt) return
    nextAt = now + everyMs
    const views = await Promise.all(endpoints.map((endpoint) => readHeads(endpoint, verify, finality)))
    const known = views.filter((view) => view !== undefined)
    if (known.length < 2) return
    const best = Math.max(...known.map(({ head }) => head.number))
    const final = known.flatMap((view) => view.final ?? []).sort((a, b) => b.number - a.number)[0]
    const seconds = before ? (now - before.at) / 1_000 : 0
    const perSecond = before && seconds > 0 ? Math.max(0, best - before.best) / seconds : 0
    before = { best, at: now }
    const elsewhere = await Promise.all(endpoints.map((endpoint) => isOnFork(endpoint, final)))
    for (const [index, endpoint] of endpoints.entries()) {
      const view = views[index]
      if (!view) continue
      const lags = view.head.number < best - LAG_BLOCKS - SKEW_SECONDS * perSecond
      if (endpoint.setBehind(lags || elsewhere[index] === true)) onBehind(endpoint, best)
    }
  }
}

/** Undefined where the endpoint fails: the next request to it reports that. */
async function readHeads(
  endpoint: Endpoint,
  verify: (endpoint: Endpoint) => Promise<void>,
  finality: Finality,
): Promise<Heads | undefined> {
  try {
    await verify(endpoint)
    return endpoint.disabled ? undefined : await getHeads(endpoint.client, finality)
  } catch {
    return undefined
  }
}

/** Whether it has another block where another endpoint reports a final one: a fork may have any height. */
async function isOnFork(endpoint: Endpoint, final: BlockRef | undefined): Promise<boolean> {
  if (!final || endpoint.disabled) return false
  try {
    const header = await getHeader(endpoint.client, final.number)
    return header !== undefined && header.hash !== final.hash
  } catch {
    return false
  }
}
