/** Chooses which endpoint does a unit of work next. */
import type { Client } from 'viem'
import { pause } from '../../lib/wait.ts'
import type { RangeKind } from '../endpoint-limits.ts'
import { voiceOf } from '../voice.ts'
import type { Endpoint } from './endpoint.ts'
import type { Priority } from './rate-limiter.ts'

export type RunOptions = {
  /** Endpoints known to be below this block come last. */
  atLeast?: number | undefined
  /** The oldest block that is asked for: endpoints known to lack it come last. */
  oldest?: number
  /** Width of the requested range: endpoints known to refuse it come last. */
  blocks?: number
  /** `events` where absent. */
  ranges?: RangeKind
  /** Endpoints of this client's voice come last. */
  notFirst?: Client
  /** Endpoints of these clients' voices are not asked. */
  notAt?: readonly Client[]
  /** `live` where absent. */
  priority?: Priority
}

/** The best of the endpoints that are `left`; where all rest, waits for the first to become usable. Undefined where none is worth the wait. */
export async function chooseEndpoint(
  endpoints: readonly Endpoint[],
  left: ReadonlySet<Endpoint>,
  run: RunOptions,
  signal: AbortSignal,
): Promise<Endpoint | undefined> {
  while (!signal.aborted) {
    const candidates = [...left].filter((it) => !it.disabled).sort((a, b) => compareRanks(rank(a, run), rank(b, run)))
    const [best] = candidates
    if (!best || best.waitMs() === 0) return best
    // Another endpoint answered and only lacks the block: it may have it before these are usable.
    if (left.size < endpoints.length && endpoints.some((it) => !left.has(it) && !it.disabled)) return undefined
    await pause(Math.min(...candidates.map((it) => it.waitMs())), signal)
  }
  return undefined
}

/** Sort keys, most important first; lower is better. */
function rank(
  endpoint: Endpoint,
  { atLeast, oldest, blocks = 1, ranges, notFirst, priority = 'live' }: RunOptions,
): number[] {
  return [
    Number(endpoint.waitMs() > 0),
    Number(endpoint.voice === voiceOf(notFirst)),
    Number(atLeast !== undefined && endpoint.isBelow(atLeast)),
    Number(oldest !== undefined && endpoint.limits.lacks(oldest)),
    Number(endpoint.isBehind),
    Number(priority === 'live' && endpoint.isLate),
    Number(endpoint.limits.maxBlocks(ranges) < blocks),
  ]
}

/** Equal ranks keep the order of configuration: sorting is stable. */
function compareRanks(a: readonly number[], b: readonly number[]): number {
  const index = a.findIndex((value, place) => value !== b[place])
  return index === -1 ? 0 : (a[index] ?? 0) - (b[index] ?? 0)
}

/** Marks endpoints whose heads come later than those of the fastest other one by `lateMs`, and until they come half as late. Returns the new ones. */
export function markLate(endpoints: readonly Endpoint[], lateMs: number): Endpoint[] {
  const known = endpoints.filter((it) => !it.disabled && it.headDelay.medianMs !== undefined)
  return known.filter((endpoint) => {
    const delays = known.flatMap((it) => (it === endpoint ? [] : (it.headDelay.medianMs ?? [])))
    const fastest = Math.min(...delays)
    const lag = fastest < Number.POSITIVE_INFINITY ? (endpoint.headDelay.medianMs ?? 0) - fastest : 0
    const wasLate = endpoint.isLate
    endpoint.isLate = lag > (wasLate ? lateMs / 2 : lateMs)
    return endpoint.isLate && !wasLate
  })
}
