/** Compares the heads of endpoints: an endpoint that has stopped answers without an error, and only its peers reveal it. */

import type { AgreeAt, Finality } from '../finality.ts'
import { getHead, getHeader, type Header } from '../rpc.ts'
import type { Endpoint } from './endpoint.ts'

/** Usual distance between nodes. */
const LAG_BLOCKS = 3
/** Heads of parallel requests are read up to this far apart. */
const SKEW_SECONDS = 2
/** Nodes that follow one chain have the same block so far below their heads. */
const SHARED_DEPTH = 8
/** A head of this age is not behind, also where another endpoint claims a greater height. Ethereum's blocks are 12 s apart, or 24 s. */
const FRESH_SECONDS = 30

export type CompareHeads = (
  endpoints: readonly Endpoint[],
  verify: (endpoint: Endpoint) => Promise<void>,
  onBehind: (endpoint: Endpoint, best: number) => void,
) => Promise<void>

/** Compares at most once in `everyMs`; calls `onBehind` for each endpoint that has newly fallen behind. */
export function compareHeads(everyMs: number, finality: Finality, agreeAt: AgreeAt): CompareHeads {
  let nextAt = 0
  let before: { best: number; at: number } | undefined
  return async function compare(endpoints, verify, onBehind) {
    const now = performance.now()
    if (now < nextAt) return
    nextAt = now + everyMs
    const heads = await Promise.all(endpoints.map((endpoint) => readHead(endpoint, verify)))
    const known = heads.filter((head) => head !== undefined)
    if (known.length < 2) return
    const best = credibleHead(known)
    const seconds = before ? (now - before.at) / 1_000 : 0
    const perSecond = before && seconds > 0 ? Math.max(0, best - before.best) / seconds : 0
    before = { best, at: now }
    // A disagreement is reported.
    await agreeAt(Math.max(0, Math.min(...known.map(({ number }) => number)) - SHARED_DEPTH))
    const elsewhere = await Promise.all(endpoints.map((endpoint) => isOnFork(endpoint, finality)))
    for (const [index, endpoint] of endpoints.entries()) {
      const head = heads[index]
      if (!head) continue
      const isFresh = Date.now() / 1_000 - head.timestamp < FRESH_SECONDS
      const lags = !isFresh && head.number < best - LAG_BLOCKS - SKEW_SECONDS * perSecond
      if (endpoint.setBehind(lags || elsewhere[index] === true)) onBehind(endpoint, best)
    }
  }
}

/** The highest head; of three or more the second highest, which one endpoint alone cannot raise. */
function credibleHead(heads: readonly Header[]): number {
  const numbers = heads.map(({ number }) => number).sort((a, b) => b - a)
  return numbers[heads.length > 2 ? 1 : 0] ?? 0
}

/** Undefined where the endpoint fails: the next request to it reports that. */
async function readHead(
  endpoint: Endpoint,
  verify: (endpoint: Endpoint) => Promise<void>,
): Promise<Header | undefined> {
  try {
    await verify(endpoint)
    return endpoint.disabled ? undefined : await getHead(endpoint.client)
  } catch {
    return undefined
  }
}

/** Whether it has another block at the height of the newest final one: a fork may have any height. */
async function isOnFork(endpoint: Endpoint, finality: Finality): Promise<boolean> {
  const final = finality.below(Number.POSITIVE_INFINITY)
  if (!final || endpoint.disabled) return false
  try {
    const header = await getHeader(endpoint.client, final.number)
    return header !== undefined && header.hash !== final.hash
  } catch {
    return false
  }
}
