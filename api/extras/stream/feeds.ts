/** The feeds of this process, one for each distinct query, kept for some minutes after their last reader has left. */
import type { Report } from '../../../ingest/model/report.ts'
import { limitConcurrency, overloaded } from '../../lib/concurrency-limit.ts'
import type { ApiFact } from '../../lib/fact.ts'
import type { StateListener } from '../../market/cache/state-listeners.ts'
import type { Market } from '../../market/market.ts'
import { KEPT_MS } from './event-log.ts'
import { Feed, type FeedMember } from './feed.ts'

const MAX_FEEDS = 4_000
/** Feeds that read their changes at once: questions come first. */
const MAX_REFRESHES = 8
const MAX_WAIT_MS = 30_000

export type Feeds = {
  /** The feed of this key, a new one of `members` if it has none. Throws `overloaded` where there are too many feeds. */
  open(key: string, members: () => readonly FeedMember[]): Feed
}

export function openFeeds(market: Market, report: Report<ApiFact>): Feeds {
  /** Least recently opened first. */
  const feeds = new Map<string, Feed>()
  const limit = limitConcurrency({ maxRunning: MAX_REFRESHES, maxQueued: MAX_FEEDS, maxWaitMs: MAX_WAIT_MS })
  const onFailure = (error: unknown) => report({ kind: 'stream-failed', error })
  let ignore: (() => void) | undefined

  const onState: StateListener = (network, changed) => {
    for (const [key, feed] of feeds) {
      feed.onState(network, changed)
      if ((feed.idleMs ?? 0) > KEPT_MS) drop(key, feed)
    }
  }

  function drop(key: string, feed: Feed): void {
    feed.close()
    feeds.delete(key)
    if (feeds.size > 0) return
    ignore?.()
    ignore = undefined
  }

  function makeRoom(): void {
    if (feeds.size < MAX_FEEDS) return
    const idle = [...feeds].find(([, feed]) => feed.idleMs !== undefined)
    if (!idle) throw overloaded()
    drop(...idle)
  }

  return {
    open(key, members) {
      const known = feeds.get(key)
      if (!known) makeRoom()
      const feed = known ?? new Feed(market, members(), limit, onFailure)
      feeds.delete(key)
      feeds.set(key, feed)
      ignore ??= market.listen(onState)
      return feed
    },
  }
}
