/**
 * Finds clients that page through a pool's time, and names the chunks that their next pages need. As the read-ahead of a file system: a read beside
 * the one before it is a page of a walk; whenever half of what was read ahead is used, twice as much follows, up to a limit. Pages of one width
 * differ by a chunk, so that one more than a page is ahead.
 */
import { LRUCache } from 'lru-cache'

/** One for each pool and resolution, and the last ones of all. */
const MAX_WALKS = 1_000
/** Chunks: 16 days of minutes. */
export const MAX_AHEAD = 16

/** Numbers of chunks in the order of time, `first` to `last`. */
export type ChunkSpan = { first: number; last: number }

/** `page`: the chunks of the last read; `reached`: the last chunk that was read ahead; `ahead`: how far that was from the page of then. */
type PageWalk = { page: ChunkSpan; direction: -1 | 0 | 1; reached: number; ahead: number }

const NONE: readonly number[] = []

export class ReadAhead {
  readonly #walks = new LRUCache<string, PageWalk>({ max: MAX_WALKS })

  /** Chunks to read after the answer from `page`, ascending. Where it may not read any, a later page asks for them. */
  next(name: string, page: ChunkSpan, mayRead: boolean): readonly number[] {
    const before = this.#walks.get(name)
    const direction = before ? directionOf(before.page, page) : 0
    if (before === undefined || direction === 0) {
      if (before === undefined || !isIn(page, before.page))
        this.#walks.set(name, { page, direction, reached: 0, ahead: 0 })
      return NONE
    }
    const edge = direction < 0 ? page.first : page.last
    const known = before.direction === direction ? before : { reached: edge, ahead: 0 }
    const left = Math.max(0, (known.reached - edge) * direction)
    const width = page.last - page.first + 1
    if (!mayRead || (2 * left > known.ahead && left > width)) {
      this.#walks.set(name, { ...known, page, direction })
      return NONE
    }
    const ahead = Math.max(left, Math.min(MAX_AHEAD, 2 * Math.max(known.ahead, width)))
    this.#walks.set(name, { page, direction, reached: edge + ahead * direction, ahead })
    const chunks = Array.from({ length: ahead - left }, (_, index) => edge + (left + 1 + index) * direction)
    return direction < 0 ? chunks.reverse() : chunks
  }
}

/** Where the page lies that follows another without a gap; 0 for no such page. */
function directionOf(before: ChunkSpan, page: ChunkSpan): -1 | 0 | 1 {
  const isBefore = page.first < before.first && page.last >= before.first - 1
  const isAfter = page.last > before.last && page.first <= before.last + 1
  if (isBefore === isAfter) return 0
  return isBefore ? -1 : 1
}

function isIn(page: ChunkSpan, other: ChunkSpan): boolean {
  return page.first >= other.first && page.last <= other.last
}
